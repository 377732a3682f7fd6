//! The examples in Python and Ruby, with their libraries.

mod bundler;
mod error_texts;
mod lost_replies;
mod namespaces;
mod rescue;
mod ruby_file;
mod turns;
pub mod workers;

use crate::suite::Group;

/// The tests of this group.
pub const TESTS: Group = Group {
    with_module: tests![
        lost_replies::readme_does_not_send_again,
        lost_replies::bclaim_is_waited_for,
    ],
    everywhere: tests![
        workers::python_drains,
        workers::python_promotes_each_job_once,
        workers::ruby_promotes_each_job_once,
        workers::ruby_drains,
        ruby_file::calls_by_every_strategy,
        lost_replies::workers_do_not_send_again,
        turns::are_one_round_trip,
        turns::no_error_of_an_acknowledgement_hides_a_job,
        turns::of_the_ruby_file,
        namespaces::are_refused_by_the_ruby_file,
        rescue::agrees_with_a_server_with_room,
        rescue::keeps_the_rules,
    ],
    without_server: tests![
        ruby_file::contains_the_scripts,
        rescue::files_contain_the_scripts,
        bundler::bundled_clients_are_patched,
        error_texts::are_classified_alike_in_every_language,
    ],
    ..Group::EMPTY
};
