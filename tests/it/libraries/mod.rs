//! Real queue libraries, their own producers and workers, on a full server: with their
//! workers' user named every job is done, once; without the module they stand still or
//! lose jobs. `testkit` runs them, and `tests/libraries` has their programs.

mod controls;
mod drains;
mod scene;

use crate::suite::{Group, LibraryTest};

/// What is shown of each library on a server that rescues it.
const DRAINS: &[LibraryTest] = tests![
    drains::cold,
    drains::warm,
    drains::under_pressure,
    controls::cold,
    controls::under_pressure,
];

/// The tests of this group.
pub const TESTS: Group = Group {
    with_libraries: &[("redis-8.2", DRAINS), ("valkey-9.1", DRAINS)],
    ..Group::EMPTY
};
