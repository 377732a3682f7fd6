//! `wurk-doctor`: what it reports of healthy servers and of others, and how it ends.

mod alarms;
pub mod findings;
mod replica;
mod rescue;
mod rescue_limit;
mod restart;
mod states;
mod tls;

use crate::suite::Group;

/// The tests of this group.
pub const TESTS: Group = Group {
    with_module: tests![
        restart::says_what_survives_a_rewrite,
        rescue::finds_who_is_named,
        rescue::finds_what_is_wrong_with_them,
        rescue_limit::finds_how_much_room_is_left,
        rescue_limit::finds_whether_the_machine_has_it,
        rescue_limit::finds_what_it_has_refused,
    ],
    everywhere: tests![
        findings::reports_what_it_found,
        states::after_a_failed_write,
        states::without_replicas_primary_or_slots,
        states::while_busy_paused_or_loading,
        replica::diverges_when_full_unless_it_ignores_maxmemory,
        replica::output_buffers_do_not_fill_the_primary,
        tls::connects_over_tls,
        alarms::name_existing_metrics,
    ],
    on_one: &[("redis-8.2", tests![rescue::knows_what_7_2_lacks])],
    without_server: tests![findings::reports_that_nothing_answers,],
    ..Group::EMPTY
};
