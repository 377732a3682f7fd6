//! `WURK.BCLAIM`: a client that waits, with `BLMOVE` as the oracle wherever it has a reply.

mod bclaim;
mod kills;
mod like_blmove;
mod replication;
mod strays;
mod unwritable;
mod wakeups;

use crate::suite::Group;

/// The tests of this group.
pub const TESTS: Group = Group {
    with_module: tests![
        bclaim::replies_as_claim_if_a_job_is_there,
        bclaim::never_waits_in_multi_or_scripts,
        bclaim::serves_in_order,
        bclaim::wakes_at_maxmemory,
        bclaim::checks_again_on_waking,
        bclaim::disconnected_clients_take_no_job,
        like_blmove::wakes_as_blmove_does,
        like_blmove::ends_as_blmove_does,
        like_blmove::refuses_timeouts_as_blmove_does,
        wakeups::replicated_and_loaded_pushes_wake,
        wakeups::the_next_client_gets_a_refused_job,
        strays::leave_clients_waiting,
        unwritable::on_a_replica,
        unwritable::without_enough_replicas,
        unwritable::client_pause_delays_no_wakeup,
        replication::sends_plain_commands,
        kills::leave_each_job_in_one_list,
    ],
    ..Group::EMPTY
};
