//! No job is lost or done twice: on a full server, after kills, with replicas, restarts
//! and upgrades.

mod drain;
mod kills;
mod order;
mod poison;
mod promote;
mod reapers;
mod refused_writes;
mod replication;
mod replication_stream;
mod upgrade;
mod worker;

use crate::suite::Group;

/// The tests of this group.
pub const TESTS: Group = Group {
    with_module: tests![
        drain::by_module,
        drain::by_script,
        kills::fifty_kills_lose_no_job,
        promote::by_module,
        promote::by_script,
        replication_stream::a_replica_needs_no_module,
        replication_stream::a_restart_needs_no_module,
        replication::chained_replicas_hold_the_same_data,
        replication::a_replica_loads_by_swapdb,
        refused_writes::by_module_and_script,
        upgrade::by_failover_to_a_newer_replica,
    ],
    before_modules: tests![
        drain::by_legacy_script,
        promote::by_script,
        refused_writes::by_legacy_script,
    ],
    everywhere: tests![
        reapers::two_requeue_each_job_once,
        order::jobs_keep_their_order,
        poison::is_put_among_the_dead,
        worker::killed_loses_no_job,
        worker::stopped_requeues_its_jobs,
        worker::stopped_without_permission_leaves_its_jobs_to_the_reaper,
        worker::keeps_unreadable_jobs,
    ],
    ..Group::EMPTY
};
