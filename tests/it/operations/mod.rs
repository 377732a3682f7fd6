//! What an operator does and sees: loading, settings, `INFO wurk`, permissions, memory,
//! and machines other than this one.

pub mod acl;
mod growth_limit;
mod images;
mod info;
mod leaks;
mod loading;
mod machine;
mod targets;

use crate::suite::Group;

/// The tests of this group.
pub const TESTS: Group = Group {
    with_module: tests![
        loading::logs_what_it_found,
        loading::refuses_without_a_required_command,
        loading::survives_an_unknown_option,
        loading::cannot_be_undone,
        info::counts_calls,
        info::is_in_crash_reports,
        growth_limit::refuses_writes_past_the_limit,
        growth_limit::refuses_bad_arguments,
        acl::allows_a_worker_its_work_and_no_more,
        acl::allows_a_poller_to_promote,
        acl::scripts_grant_no_permissions,
        leaks::calls_keep_no_memory,
        images::starts_again_after_a_rewrite,
    ],
    before_modules: tests![loading::refuses_older_servers,],
    everywhere: tests![
        acl::allows_a_worker_the_scripts,
        machine::a_server_is_started_by_its_own_path,
    ],
    on_one: &[("valkey-9.1", tests![leaks::valgrind_finds_nothing])],
    with_libraries: &[],
    without_server: tests![
        machine::a_server_is_found_in_path,
        machine::all_that_is_missing_is_listed_at_once,
        machine::an_old_rust_is_reported,
        machine::what_cargo_built_is_installed,
        targets::musl_is_linked_dynamically,
        targets::unsupported_targets_are_reported,
        images::loads_the_module_with_any_arguments,
    ],
};
