//! What the doctor finds of the rescue limit, and of the memory above it.

use wurk_testkit::Binary;

use super::findings::diagnose;
use super::rescue::{name, start};
use crate::rescue::queues_when_full;

pub fn finds_how_much_room_is_left(binary: &Binary) {
    let (server, url) = start(binary);
    let mut con = server.connect();
    let find = diagnose(&url, &[]).1;
    let limit = "fine: 10 % past maxmemory: 0.0 MiB of 10.0 MiB used";
    assert_eq!(find("rescue limit"), limit);
    con.must("CONFIG SET wurk.rescue-limit 0");
    let find = diagnose(&url, &[]).1;
    assert_eq!(find("rescue limit"), "fine: none", "nobody is named");
    con.must("ACL SETUSER worker on >secret ~* +@all");
    name(&mut con, "worker");
    let find = diagnose(&url, &[]).1;
    assert_eq!(find("rescue limit"), "warn: none");
    assert_eq!(find("rescue memory"), "none");
    // Past the limit.
    con.must("CONFIG SET wurk.rescue-limit 1");
    con.must("CONFIG SET maxmemory 500000");
    let found = diagnose(&url, &[]).1("rescue limit");
    assert!(found.starts_with("warn: 1 % past maxmemory: "), "{found}");
}

/// `maxmemory` fits into the machine, and with the limit it does not.
pub fn finds_whether_the_machine_has_it(binary: &Binary) {
    let (server, url) = start(binary);
    let mut con = server.connect();
    con.must("ACL SETUSER worker on >secret ~* +@all");
    name(&mut con, "worker");
    let find = diagnose(&url, &[]).1;
    let found = find("rescue memory");
    let expected = "fine: 110.0 MiB at the limit, the machine has ";
    assert!(found.starts_with(expected), "{found}");
    let memory = con.info("memory", "total_system_memory");
    con.must(&format!("CONFIG SET maxmemory {}", memory * 95 / 100));
    let (status, find) = diagnose(&url, &[]);
    let found = find("rescue memory");
    assert!(found.starts_with("warn: "), "{found}");
    assert_eq!(status, 1);
    con.must("CONFIG SET wurk.rescue-limit 4");
    let (status, find) = diagnose(&url, &[]);
    let found = find("rescue memory");
    assert!(found.starts_with("fine: "), "{found}");
    assert_eq!(status, i32::from(!queues_when_full(binary)));
    // No limit of its own: there is nothing to compare.
    con.must("CONFIG SET maxmemory 0");
    assert_eq!(diagnose(&url, &[]).1("rescue memory"), "none");
}

/// How often the limit has refused something: a warning while the server is full.
pub fn finds_what_it_has_refused(binary: &Binary) {
    let (server, url) = start(binary);
    let mut con = server.connect();
    con.must("ACL SETUSER worker on >secret ~* +@all");
    name(&mut con, "worker");
    let mut worker = server.connect();
    worker.must("AUTH worker secret");
    con.must("CONFIG SET wurk.rescue-limit 0");
    con.must("CONFIG SET maxmemory 500000");
    worker.must("WURK.RESCUE SET k v");
    let found = diagnose(&url, &[]).1("rescues");
    assert_eq!(found, "fine: 1 run since the start, 0 refused by the limit");
    con.must("CONFIG SET wurk.rescue-limit 1");
    for _ in 0..2 {
        let refused = worker.say("WURK.RESCUE SET k v").to_string();
        assert!(refused.contains("wurk.rescue-limit"), "{refused}");
    }
    let found = diagnose(&url, &[]).1("rescues");
    assert_eq!(found, "warn: 1 run since the start, 2 refused by the limit");
    con.must("CONFIG SET maxmemory 0");
    let found = diagnose(&url, &[]).1("rescues");
    assert_eq!(found, "fine: 1 run since the start, 2 refused by the limit");
}
