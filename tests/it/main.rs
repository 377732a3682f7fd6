//! Every test speaks to a real server that it started, on each server that is
//! there: what `make servers` fetched, or else the one in `PATH`.
//!
//! `cargo test --test it -- drain` runs the tests with that in their name,
//! `-- redis-8.2` those on that server, `-- --list` names them all.
//!
//! | variable | what it does |
//! | --- | --- |
//! | `WURK_SERVERS` | the folder of the servers in place of `target/servers` |
//! | `WURK_REQUIRE_SERVERS` | servers that must be there, with commas between, or `all` |
//! | `WURK_REQUIRE_LANGUAGES` | set: Python and Ruby must be there with their Redis libraries |
//! | `WURK_MODULE` | the module to load in place of the one just built |
//! | `WURK_SEED` | the seed of the random runs, to see one again |
//! | `WURK_STEPS` | how many steps they take |

// One program: whatever is `pub` here is so for its rooms.
#![allow(unreachable_pub)]

/// The same calls by the module, the script, and their replies compared.
mod door;

/// Keys, jobs and arguments of any bytes.
mod bytes;
/// The rows.
mod cases;
/// The contract, row by row, on the module and again on the scripts.
mod contract;
/// What a server is told of the commands, and what it says as it loads them.
mod described;
/// Thousands of random calls on two servers: nothing may tell them apart.
mod differential;
/// A full server drains, and every job is accounted for.
mod drain;
/// Awkward arguments by the ten thousand: the server is still up.
mod inside;
mod junk;
/// The client takes the road that its server has.
mod roads;
/// Replicas and restarts without the module hold the same data.
mod stream;
/// Who watches a key is told of what was written to it, and of nothing else.
mod watch;

/// Waiting for a job, `BLMOVE` being the oracle where it has an answer.
mod arrivals;
mod bclaim;
/// A cluster: the right node at the first try.
mod cluster;
/// The same over asynchronous connections, pools and ports.
mod connections;
/// What the doctor says of servers that are well, and of others.
mod doctor;
mod doctor_alarms;
mod doctor_replica;
mod doctor_restart;
mod doctor_states;
mod doctor_tls;
/// The documents: their links, their commands, and what they quote.
mod documents;
/// A server that is replaced by one without the module, in the middle.
mod failover;
/// A server that is killed, workers that die, and the order of jobs.
mod faults;
/// What a claim says of its process, where fields expire or keys are replaced.
mod heartbeat;
/// Python and Ruby, and what runs in them.
mod interpreters;
/// The examples in Python and Ruby.
mod languages;
/// Nothing is kept, and nothing is touched that is not the module's.
mod leaks;
/// A proxy that loses replies.
mod lossy;
/// A reply that is lost is not asked for again, in any language.
mod lost_replies;
/// Servers under other names and in other places, and machines that lack something.
mod machine;
/// A connection with a prefix before its keys.
mod namespaces;
/// What an operator sees and can set.
mod operator;
/// Chains of replicas, and servers that may not write.
mod readme;
mod replication;
/// Users that may do just so much.
mod rights;
/// A slot of a cluster that moves while workers claim from it.
mod slot_migration;
/// A server that answers as Dragonfly does.
mod standin;
/// Keys that hold something else than a list.
mod strays;
/// Targets and images that cannot be had here.
mod targets;
/// Servers that may not be written to any more when a job comes.
mod unwritable;
/// Another module comes in by a failover.
mod upgrade;
/// A claim that waits, by the module and without it.
mod waiting;
/// What servers and proxies say leads every language to the same step.
mod wordings;
/// The example worker, killed and started again.
mod worker;

use std::thread;

use libtest_mimic::{Arguments, Trial};
use wurk_testkit::Binary;

/// A test, on one server.
type Test = fn(&Binary);

/// On servers that can load the module.
const WITH_MODULE: &[(&str, Test)] = &[
    ("contract", contract::is_kept_by_module_and_script),
    ("contract_of_absent_keys", contract::expired_keys_are_absent),
    ("described", described::as_the_contract_says),
    ("described_load", described::load_says_what_it_found),
    ("described_renamed", described::a_renamed_command_is_missed),
    (
        "described_options",
        described::a_strange_option_does_no_harm,
    ),
    ("described_unload", described::unload_is_refused),
    ("differential", differential::module_and_script_agree),
    ("bytes", bytes::any_byte_may_stand_anywhere),
    ("drain_by_module", drain::by_module),
    ("drain_by_script", drain::by_script),
    ("watch", watch::is_broken_by_what_is_written),
    ("stream_replica", stream::a_replica_needs_no_module),
    ("stream_restart", stream::a_restart_needs_no_module),
    ("junk", junk::stops_no_server),
    ("roads_module", roads::the_module_is_taken_first),
    ("roads_script", roads::the_script_is_taken_next),
    ("upgrade", upgrade::a_replica_brings_it_in),
    ("faults_killed", faults::killed_fifty_times),
    ("replication_chain", replication::a_chain_holds_the_same),
    ("replication_swapdb", replication::a_replica_loads_by_swapdb),
    (
        "replication_refused",
        replication::a_server_that_may_not_write_writes_nothing,
    ),
    ("slot_migration_by_key", slot_migration::key_by_key),
    ("cluster_failover", cluster::a_replica_takes_over),
    (
        "cluster_lost_reply",
        cluster::a_lost_reply_is_not_asked_for_again,
    ),
    ("cluster_keys", cluster::keys_are_told),
    (
        "rights_worker",
        rights::a_worker_can_do_its_work_and_no_more,
    ),
    ("rights_scripts", rights::scripts_lend_no_rights),
    ("leaks_memory", leaks::calls_keep_no_memory),
    ("operator_info", operator::info_counts_what_was_done),
    ("operator_brake", operator::a_brake_holds_what_grows),
    ("operator_arguments", operator::a_bad_argument_is_refused),
    ("operator_crash", operator::a_crash_report_tells_too),
    (
        "doctor_restart",
        doctor_restart::survives_a_rewrite_in_one_way,
    ),
    ("inside", inside::are_served_on_a_full_server),
    ("readme", readme::shows_what_happens),
    (
        "lost_replies_readme",
        lost_replies::are_not_asked_for_again_by_readme,
    ),
    ("lost_replies_wait", lost_replies::is_waited_for),
    (
        "machine_rewrite",
        targets::an_image_starts_again_after_a_rewrite,
    ),
    ("bclaim_claims", bclaim::with_a_job_is_a_claim),
    ("bclaim_wakes", bclaim::wakes_where_blmove_would),
    ("bclaim_arrivals", arrivals::wake_as_for_blmove),
    ("bclaim_takers", arrivals::find_whoever_can_take_them),
    ("bclaim_ends", bclaim::ends_as_blmove_does),
    ("bclaim_timeouts", bclaim::refuses_a_timeout_as_blmove_does),
    (
        "bclaim_multi",
        bclaim::waits_in_no_transaction_and_no_script,
    ),
    ("bclaim_order", bclaim::serves_in_order),
    ("bclaim_full", bclaim::is_woken_at_maxmemory),
    ("bclaim_looks", bclaim::looks_again_on_waking),
    ("bclaim_gone", bclaim::a_client_that_has_gone_takes_nothing),
    ("bclaim_strays", strays::leave_a_client_waiting),
    (
        "bclaim_unwritable_replica",
        unwritable::a_replica_wakes_no_writer,
    ),
    (
        "bclaim_unwritable_primary",
        unwritable::a_primary_without_replicas_wakes_no_writer,
    ),
    ("bclaim_paused", unwritable::a_pause_does_not_hold_a_wakeup),
    (
        "heartbeat_expired_field",
        heartbeat::an_expired_field_is_told_of,
    ),
    (
        "heartbeat_meddled",
        heartbeat::a_key_that_is_replaced_is_refused,
    ),
    ("bclaim_stream", bclaim::streams_plain_commands),
    (
        "bclaim_killed",
        bclaim::killed_in_the_middle_leaves_a_job_in_one_list,
    ),
];

/// On servers that are too old for it.
const BEFORE_MODULES: &[(&str, Test)] = &[
    ("described_too_old", described::an_older_server_is_refused),
    ("drain_behind_a_write", drain::behind_a_write),
    ("roads_behind_a_write", roads::behind_a_write_before_7),
    (
        "replication_refused",
        replication::an_older_server_that_may_not_write_says_so,
    ),
];

/// On all.
const EVERYWHERE: &[(&str, Test)] = &[
    ("roads_own_error", roads::the_callers_own_error_comes_back),
    ("roads_answers", roads::an_answer_is_an_answer),
    ("rights_by_script", rights::a_worker_can_do_it_by_script),
    ("faults_reapers", faults::two_reapers_at_once_do_no_harm),
    ("order", faults::jobs_keep_their_order),
    ("languages_python", languages::python_worker_drains),
    ("languages_ruby", languages::ruby_worker_drains),
    (
        "languages_ruby_calls",
        languages::ruby_calls_take_every_road,
    ),
    (
        "lost_replies_workers",
        lost_replies::are_not_asked_for_again_by_the_workers,
    ),
    ("namespaces_ruby", namespaces::are_refused_by_the_ruby_file),
    ("readme_full", readme::takes_a_job_from_a_stock_server),
    ("documents_errors", documents::name_the_errors_that_come),
    ("doctor", doctor::tells_what_it_found),
    ("doctor_misconf", doctor_states::after_a_failed_write),
    ("doctor_alone", doctor_states::without_the_others),
    ("doctor_busy", doctor_states::while_it_serves_nobody),
    (
        "doctor_replica",
        doctor_replica::that_is_full_diverges_unless_it_ignores_that,
    ),
    (
        "doctor_memory",
        doctor_replica::that_reads_nothing_fills_no_primary,
    ),
    ("doctor_tls", doctor_tls::asks_over_tls),
    ("doctor_alarms", doctor_alarms::name_what_info_has),
    ("machine_name", machine::a_server_is_started_by_its_own_name),
    ("connections_async", connections::asynchronous),
    ("connections_manager", connections::managed),
    ("connections_tls", connections::over_tls),
    ("connections_pool", connections::pooled),
    ("waiting_client", waiting::claims_within),
    ("cluster", cluster::is_asked_at_the_right_node),
    (
        "failover_sentinel",
        failover::by_sentinel_in_the_middle_of_a_drain,
    ),
    ("worker_killed", worker::killed_in_the_middle_loses_nothing),
    ("worker_stopped", worker::stopped_gives_its_jobs_back),
    (
        "worker_without_a_right",
        worker::stopped_without_a_right_leaves_its_jobs_to_the_reaper,
    ),
    ("worker_strange_jobs", worker::keeps_what_it_cannot_read),
];

/// On one of them: where valgrind can follow the memory, and what takes a minute.
const ON_ONE: &[(&str, &str, Test)] = &[
    (
        "valkey-9.1",
        "leaks_valgrind",
        leaks::valgrind_finds_nothing,
    ),
    (
        "redis-8.2",
        "roads_later",
        roads::a_module_that_is_loaded_later_is_noticed,
    ),
    (
        "valkey-9.1",
        "slot_migration_atomic",
        slot_migration::in_one_piece,
    ),
];

fn main() {
    let mut arguments = Arguments::from_args();
    // Most of a test is waiting for servers.
    let cores = thread::available_parallelism().map_or(2, usize::from);
    arguments.test_threads.get_or_insert(2 * cores);
    let servers = Binary::all();
    assert!(
        !servers.is_empty(),
        "no server: run 'make servers', or install redis-server"
    );
    let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
    eprintln!("servers: {}", names.join(", "));

    let mut trials = Vec::new();
    for server in &servers {
        let own = if server.loads_modules() {
            WITH_MODULE
        } else {
            BEFORE_MODULES
        };
        let special = ON_ONE
            .iter()
            .filter(|(only, ..)| *only == server.name)
            .map(|(_, name, test)| (name, test));
        let tests = own
            .iter()
            .chain(EVERYWHERE)
            .map(|(name, test)| (name, test));
        for (name, test) in special.chain(tests) {
            let (server, test) = (server.clone(), *test);
            trials.push(Trial::test(format!("{server}::{name}"), move || {
                test(&server);
                Ok(())
            }));
        }
    }
    trials.push(Trial::test("languages::scripts_stand_once", || {
        languages::the_ruby_file_holds_the_scripts();
        Ok(())
    }));
    trials.push(Trial::test("wordings::one_step_in_all_languages", || {
        wordings::lead_every_language_to_the_same_step();
        Ok(())
    }));
    trials.push(Trial::test("readme::program", || {
        readme::shows_a_program_that_compiles();
        Ok(())
    }));
    trials.push(Trial::test("doctor::no_answer", || {
        doctor::says_that_nobody_answers();
        Ok(())
    }));
    trials.push(Trial::test("standin::like_dragonfly", || {
        standin::loses_no_job();
        Ok(())
    }));
    let alone: [(&str, fn()); 11] = [
        ("documents::links", documents::lead_to_each_other),
        (
            "documents::commands",
            documents::name_commands_that_are_there,
        ),
        ("documents::tests", documents::name_tests_that_are_there),
        ("documents::quotes", documents::quote_what_is_sent),
        ("machine::path", machine::a_server_is_found_in_path),
        (
            "machine::need",
            machine::all_that_is_missing_is_named_at_once,
        ),
        ("machine::rust", machine::an_old_rust_is_named),
        ("machine::install", machine::what_was_built_is_installed),
        ("machine::musl", targets::musl_is_linked_dynamically),
        ("machine::build", targets::what_cannot_be_built_is_said),
        (
            "machine::image",
            targets::an_image_loads_it_whatever_is_asked,
        ),
    ];
    for (name, test) in alone {
        trials.push(Trial::test(name, move || {
            test();
            Ok(())
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
