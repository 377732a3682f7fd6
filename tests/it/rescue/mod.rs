//! `WURK.RESCUE` and `rescue-users`: what a rescued user sends to a full server
//! does what it does on one that is not full, and nobody gains a permission.

mod cluster;
mod differential;
mod document;
mod drain;
mod limit;
mod permissions;
mod setting;
mod side;
mod states;
mod steps;
mod waits;

pub use side::{has_filter, queues_when_full};

use crate::suite::Group;

/// The tests of this group.
pub const TESTS: Group = Group {
    with_module: tests![
        differential::a_full_server_does_what_another_does,
        cluster::redirects_as_the_command_alone,
        document::steps::drain_a_full_server,
        document::steps::keep_a_user_in_a_file,
        document::steps::name_default_in_need,
        document::configuration::is_as_the_page_says,
        document::permissions::are_enough_and_none_too_many,
        document::permissions::are_no_help_to_a_producer,
        document::permissions::of_groups_have_it,
        document::servers::can_do_what_the_page_says,
        document::texts::of_the_log,
        document::texts::of_errors,
        drain::a_plain_worker_in_python,
        limit::holds_what_grows,
        limit::jobs_that_make_jobs_stay_below,
        permissions::are_those_of_the_user,
        permissions::a_user_who_is_not_named_gains_nothing,
        permissions::a_client_that_changes_its_user,
        permissions::a_client_that_logs_in_by_another_name,
        permissions::a_named_user_without_the_permission,
        permissions::scripts_gain_none,
        permissions::keys_are_those_of_the_command,
        setting::names_users,
        setting::is_an_argument_of_the_module,
        setting::filters_only_while_a_user_is_named,
        setting::follows_modules,
        setting::survives_a_rewrite,
        states::a_server_that_may_not_write,
        states::client_pause,
        states::script_kill,
        states::client_tracking,
        states::client_tracking_of_ones_own,
        states::io_threads,
        states::eviction,
        states::maxmemory_at_run_time,
        waits::end_as_without_the_module,
        waits::are_refused_on_a_replica,
        waits::are_served_at_maxmemory,
        waits::are_served_in_order,
        waits::do_not_in_multi,
    ],
    ..Group::EMPTY
};
