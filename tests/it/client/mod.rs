//! The client: its fallback, and the connections that it works over.

mod claim_timeout;
mod cluster;
mod cluster_failover;
mod cluster_lost_reply;
mod connections;
mod dragonfly;
mod errors;
mod failover;
mod fallback;
mod pool;
mod rescue;
mod slot_migration;
mod tls;
mod turns;

use crate::suite::Group;

/// The tests of this group.
pub const TESTS: Group = Group {
    with_module: tests![
        fallback::uses_the_module_first,
        fallback::uses_the_script_without_the_module,
        cluster_failover::continues_on_the_promoted_replica,
        cluster_lost_reply::is_not_sent_again,
        slot_migration::key_by_key,
        rescue::refusals::ask_the_module_first,
    ],
    before_modules: tests![
        fallback::uses_the_legacy_script_before_7_0,
        rescue::refusals::leave_incrbyfloat_alone_before_7_0,
    ],
    everywhere: tests![
        errors::the_callers_own_without_a_fallback,
        errors::the_servers_own_unchanged,
        claim_timeout::waits_for_a_job,
        connections::asynchronous,
        connections::managed,
        tls::blocking_and_asynchronous,
        pool::each_job_is_claimed_once,
        cluster::sends_to_the_right_node,
        failover::by_sentinel_during_a_drain,
        rescue::cluster::reaches_the_node_of_the_command,
        rescue::differential::rescued_commands_agree,
        rescue::differential::rescued_commands_agree_asynchronously,
        rescue::refusals::keep_the_order_of_a_pipeline,
        rescue::refusals::return_the_callers_own_error,
        rescue::refusals::stop_at_the_limit,
        rescue::refusals::run_the_callers_own_scripts,
        rescue::refusals::are_not_sent_twice,
        rescue::refusals::cost_nothing_with_room,
        rescue::transactions::are_one_script,
        rescue::transactions::run_if_what_was_watched_is_unchanged,
        rescue::transactions::keep_their_error_if_nobody_knows,
        rescue::transactions::watch_asynchronously_too,
        rescue::transactions::that_ran_are_not_sent_again,
        rescue::waits::end_with_the_job_or_the_timeout,
        rescue::waits::are_the_servers_own_with_room,
        rescue::waits::with_a_wrong_timeout_are_not_rescued,
        turns::acknowledge_and_claim,
        turns::are_one_write,
        turns::no_error_hides_a_job,
        turns::end_with_the_callers_own_error,
        turns::whose_reply_is_lost_are_not_sent_again,
    ],
    on_one: &[
        ("redis-8.2", tests![fallback::notices_a_module_loaded_later]),
        ("valkey-9.1", tests![slot_migration::atomic]),
    ],
    with_libraries: &[],
    without_server: tests![dragonfly::loses_no_job, dragonfly::rescues_nothing],
};
