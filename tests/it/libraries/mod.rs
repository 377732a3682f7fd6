//! Real queue libraries, their own producers and workers, on a full server: with their
//! workers' user named every job is done, once; without the module they stand still or
//! lose jobs. `testkit` runs them, and `tests/libraries` has their programs.

mod client_alone;
mod cluster;
mod controls;
mod drains;
mod kills;
mod scene;

use crate::suite::{Group, LibraryTest};

/// What is shown of each library on a server that rescues it.
const DRAINS: &[LibraryTest] = tests![
    drains::cold,
    drains::warm,
    drains::under_pressure,
    controls::stands_still_or_loses_jobs,
];

/// What is shown of each on a stock server, if its workers rescue themselves.
const ALONE: &[LibraryTest] = tests![
    client_alone::cold,
    client_alone::warm,
    client_alone::under_pressure,
];

/// The tests of this group.
pub const TESTS: Group = Group {
    on_one: &[(
        "redis-8.2",
        tests![
            cluster::bullmq,
            cluster::bullmq_by_itself,
            cluster::lists_by_redis_py,
            kills::celery,
            kills::dramatiq,
            kills::bullmq,
            kills::bull,
            kills::bee_queue,
        ],
    )],
    with_libraries: &[
        ("redis-8.2", DRAINS),
        ("valkey-9.1", DRAINS),
        ("redict-7.3", tests![drains::cold]),
        ("redis-8.2", ALONE),
        ("valkey-9.1", ALONE),
        ("redict-7.3", ALONE),
    ],
    ..Group::EMPTY
};
