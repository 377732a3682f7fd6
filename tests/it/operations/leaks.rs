//! The module keeps no memory, and touches none that is not its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Resp, Server};

use crate::support::wait::wait_until;

/// Calls of each kind on each server.
const CALLS: usize = 200_000;

/// Waits of each kind, fewer of those whose client disconnects.
const WAITS: usize = 10_000;

/// Calls that are sent together.
const BATCH: usize = 500;

/// Calls with every kind of reply that together leave the data as it was.
const CYCLE: [&str; 17] = [
    "WURK.CLAIM ps id q0 p0 q p info 1.5 600",
    "WURK.REQUEUE p q job",
    "WURK.CLAIM ps id none p info 1.5 600",
    "WURK.CLAIM ps id string p info 1.5 600",
    "WURK.REQUEUE p q gone",
    "WURK.LOCK string 1000",
    "WURK.PROMOTE z q m",
    "LREM q 1 m",
    "WURK.PROMOTE z q gone",
    "WURK.ZADD z 1 m",
    "WURK.BEAT ps id i 1 600",
    "WURK.CLAIM ps id q p info 1.5 soon",
    "WURK.RESCUE SET string x",
    "WURK.RESCUE SET string",
    "WURK.RESCUE LMOVE none none LEFT RIGHT",
    "WURK.RESCUE GET string",
    "SET string x",
];

fn send(con: &mut Resp, lines: &[&str], times: usize) {
    let commands: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    for command in (0..times).flat_map(|_| &commands) {
        con.send(command).expect("a server");
    }
    for _ in 0..times * lines.len() {
        con.read().expect("a reply");
    }
}

fn prepare(con: &mut Resp) {
    for line in ["RPUSH q job", "SET string x", "ZADD z 1 m"] {
        con.must(line);
    }
}

/// More than a million calls leave the memory in use as it was.
pub fn calls_keep_no_memory(binary: &Binary) {
    let server = Options::new(binary)
        .module_with(&["rescue-users", "default", "rescue-limit", "0"])
        // Its entries are memory in use, and how many there are depends on the load.
        .set("slowlog-max-len", &["0"])
        .start();
    prepare(&mut server.connect());
    let round = |calls: usize, waits: usize| {
        let mut con = server.connect();
        for _ in 0..calls / BATCH {
            send(&mut con, &CYCLE, BATCH / CYCLE.len());
        }
        wait_and_end(&server, &mut con, waits);
        // Its buffers are memory in use, and their size depends on the machine's load.
        drop(con);
        let mut asks = server.connect();
        wait_until("all clients have disconnected", || {
            asks.info("clients", "connected_clients") == 1
        });
        asks.info("memory", "used_memory")
    };
    let warm = round(10_000, 500);
    let after = round(CALLS * CYCLE.len(), WAITS);
    let kept = after - warm;
    assert!(
        kept < 64 << 10,
        "{kept} bytes kept by {} calls and {WAITS} waits of each kind",
        CALLS * CYCLE.len()
    );
}

/// Runs `waits` waits that end by a timeout, as many by a job, and some by a disconnection.
fn wait_and_end(server: &Server, con: &mut Resp, waits: usize) {
    let line = |list: &str, timeout: &str| -> Vec<String> {
        let line = format!("WURK.BCLAIM ps id {list} in-flight i 1 600 {timeout}");
        line.split(' ').map(str::to_owned).collect()
    };
    let mut waiting: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for _ in 0..waits / waiting.len() {
        for client in &mut waiting {
            client.send(&line("none", "0.001")).expect("a server");
        }
        for client in &mut waiting {
            assert!(client.read().expect("a reply").is_nil());
        }
        for client in &mut waiting {
            client.send(&line("w", "0")).expect("a server");
        }
        for _ in &waiting {
            con.must("RPUSH w job");
        }
        for client in &mut waiting {
            assert_eq!(client.read().expect("a reply").items().len(), 2);
        }
        con.must("DEL in-flight");
        let mut gone = server.connect();
        gone.send(&line("none", "0")).expect("a server");
    }
}

/// valgrind reports nothing in the module during a short run of every command.
pub fn valgrind_finds_nothing(binary: &Binary) {
    let folder = TempDir::new().expect("a folder");
    let wrapped = folder.path().join("server");
    let report = folder.path().join("report");
    // This server is built with the malloc of libc, which valgrind can follow.
    let script = format!(
        "#!/bin/sh\nexec valgrind --quiet --leak-check=no --log-file={} {} \"$@\"\n",
        report.display(),
        binary.path.display()
    );
    fs::write(&wrapped, script).expect("a script");
    fs::set_permissions(&wrapped, fs::Permissions::from_mode(0o755)).expect("a program");
    let slow = Binary {
        path: wrapped,
        ..binary.clone()
    };
    let server = Options::new(&slow)
        .module()
        .set("appendonly", &["yes"])
        .start();
    let mut con = server.connect();
    prepare(&mut con);
    for full in ["0", "1"] {
        con.must(&format!("CONFIG SET maxmemory {full}"));
        send(&mut con, &CYCLE, 50);
        send(
            &mut con,
            &[
                "WURK.BCLAIM ps new none p i 1 600 0.001",
                "WURK.BCLAIM ps id q p i 1 600 x",
                "WURK.CLAIM",
                "INFO wurk",
            ],
            5,
        );
        let mut waiting = server.connect();
        waiting
            .send(&["WURK.BCLAIM", "ps", "id", "w", "p", "i", "1", "600", "0"])
            .expect("a server");
        con.must("CONFIG SET maxmemory 0");
        con.must("CONFIG SET wurk.growth-limit 1");
        con.must("RPUSH w job");
        assert_eq!(
            waiting.read().expect("a reply").to_string(),
            r#"[(integer) 1, "job"]"#
        );
    }
    let _stopped = server.stop();
    let found = fs::read_to_string(&report).expect("a report");
    let ours: Vec<_> = found
        .split("\n==")
        .filter(|line| line.contains("wurk"))
        .collect();
    assert!(ours.is_empty(), "{found}");
}
