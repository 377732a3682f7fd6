//! The integration tests: each speaks to a real server that it starts, and runs on
//! every server that is there, from `make servers` or else from `PATH`.
//!
//! | group | what its tests show |
//! | --- | --- |
//! | [`commands`] | what each command replies and writes, by the module and by the script |
//! | [`waiting`] | `WURK.BCLAIM` waits as `BLMOVE` does |
//! | [`rescue`] | `WURK.RESCUE` and `rescue-users` do what the commands do on a server that is not full |
//! | [`durability`] | no job is lost or done twice: drains, kills, replicas, restarts, upgrades |
//! | [`client`] | the client's fallback, over every kind of connection |
//! | [`operations`] | loading, settings, `INFO wurk`, permissions, leaks, other machines |
//! | [`doctor`] | what `wurk-doctor` reports |
//! | [`languages`] | the examples in Python and Ruby |
//! | [`libraries`] | queue libraries as they are, with their own workers and producers |
//! | [`readme`], [`documents`] | what README shows and the documents say |
//! | [`structure`] | which modules import which |
//! | [`support`] | no tests: what they share |
//!
//! The name of a test is the path of its function, after the server it runs on:
//! `redis-8.2::waiting::bclaim::serves_in_order` is `serves_in_order` in
//! `tests/it/waiting/bclaim.rs`. `cargo test --test it -- waiting` runs the tests with
//! that in their name, `-- redis-8.2` those on that server; `-- --list` lists all.
//!
//! | variable | what it does |
//! | --- | --- |
//! | `WURK_SERVERS` | the folder of the servers in place of `target/servers` |
//! | `WURK_REQUIRE_SERVERS` | servers that must be there, separated by commas, or `all` |
//! | `WURK_REQUIRE_LANGUAGES` | if set, Python and Ruby must be there with their Redis libraries, and `redis-cli` |
//! | `WURK_REQUIRE_LIBRARIES` | if set, every queue library must be installed |
//! | `WURK_LIBRARIES` | `full`: the queue libraries fill their whole server with jobs |
//! | `WURK_MODULE` | the module to load in place of the one just built |
//! | `WURK_SEED` | the seed of the random runs, to repeat one |
//! | `WURK_STEPS` | the number of steps of the differential test |

// One program: what is `pub` is so for its other modules.
#![allow(unreachable_pub)]

#[macro_use]
mod suite;

mod client;
mod commands;
mod doctor;
mod documents;
mod durability;
mod languages;
mod libraries;
mod operations;
mod readme;
mod rescue;
mod structure;
mod support;
mod waiting;

use std::thread;

use libtest_mimic::Arguments;
use wurk_testkit::Binary;

use suite::{Group, trials};

/// The tests at the top level.
const TESTS: Group = Group {
    with_module: tests![readme::shows_what_happens],
    everywhere: tests![
        readme::takes_a_job_from_a_stock_server,
        documents::name_the_errors_that_come,
    ],
    without_server: tests![
        documents::lead_to_each_other,
        documents::name_commands_that_are_there,
        documents::name_tests_that_are_there,
        documents::quote_what_is_sent,
        readme::shows_a_program_that_compiles,
        structure::modules_import_one_way,
        structure::the_check_finds_cycles,
    ],
    ..Group::EMPTY
};

const GROUPS: [Group; 10] = [
    commands::TESTS,
    waiting::TESTS,
    rescue::TESTS,
    durability::TESTS,
    client::TESTS,
    operations::TESTS,
    doctor::TESTS,
    languages::TESTS,
    libraries::TESTS,
    TESTS,
];

fn main() {
    let mut arguments = Arguments::from_args();
    // A test mostly waits for servers.
    let cores = thread::available_parallelism().map_or(2, usize::from);
    arguments.test_threads.get_or_insert(2 * cores);
    let servers = Binary::all();
    assert!(
        !servers.is_empty(),
        "no server: run 'make servers', or install redis-server"
    );
    let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
    eprintln!("servers: {}", names.join(", "));
    libtest_mimic::run(&arguments, trials(&GROUPS, &servers)).exit();
}
