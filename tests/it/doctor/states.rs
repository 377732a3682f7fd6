//! What the doctor says of servers that refuse all writes, or all commands.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Resp, Server};

use crate::doctor::findings::diagnose;
use crate::support::wait::{in_step, wait_until};

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}/", server.port)
}

/// With a limit, so that nothing but its state is worth a warning.
fn queue(binary: &Binary) -> Options {
    Options::new(binary)
        .module_if_supported()
        .port()
        .set("maxmemory", &["200mb"])
        .set("maxmemory-policy", &["noeviction"])
}

/// The doctor finds that every write is refused so, and ends with 1.
fn refuses(server: &Server, code: &str) -> impl Fn(&str) -> String + use<> {
    let (status, find) = diagnose(&url(server), &[]);
    let writes = find("writes");
    assert_eq!(status, 1, "{writes}");
    assert!(
        writes.starts_with(&format!("warn: {code} ")),
        "{code}: {writes}"
    );
    find
}

fn is_well(server: &Server) {
    let (status, find) = diagnose(&url(server), &[]);
    assert_eq!((find("writes").as_str(), status), ("fine: taken", 0));
}

fn save_ends(con: &mut Resp, how: &str) {
    wait_until("the save ends so", || {
        // Refused while another save runs.
        con.say("BGSAVE");
        con.say("INFO persistence")
            .to_string()
            .contains(&format!("rdb_last_bgsave_status:{how}"))
    });
}

/// After a save or a write to the AOF that failed.
pub fn after_a_failed_write(binary: &Binary) {
    let server = queue(binary).set("dbfilename", &["taken.rdb"]).start();
    let mut con = server.connect();
    con.call(&["CONFIG", "SET", "save", "3600 1"]);
    let taken = server.folder().join("taken.rdb");
    fs::create_dir_all(taken.join("x")).expect("a folder");
    save_ends(&mut con, "err");
    let find = refuses(&server, "MISCONF");
    assert_eq!(find("snapshots"), "warn: the last save failed");
    assert!(
        find("strategy").starts_with("fine: "),
        "{}",
        find("strategy")
    );
    // Told to go on nevertheless, it does, and still has no snapshot.
    con.must("CONFIG SET stop-writes-on-bgsave-error no");
    let (status, find) = diagnose(&url(&server), &[]);
    assert_eq!((find("writes").as_str(), status), ("fine: taken", 1));
    assert_eq!(find("snapshots"), "warn: the last save failed");
    fs::remove_dir_all(taken).expect("a folder");
    save_ends(&mut con, "ok");
    is_well(&server);

    // An AOF on a disk that is full.
    let folder = TempDir::with_prefix("wurk-").expect("a folder");
    let aof = if binary.loads_modules() {
        let aof = folder.path().join("appendonlydir");
        fs::create_dir(&aof).expect("a folder");
        let manifest = "file appendonly.aof.1.incr.aof seq 1 type i\n";
        fs::write(aof.join("appendonly.aof.manifest"), manifest).expect("a manifest");
        aof.join("appendonly.aof.1.incr.aof")
    } else {
        folder.path().join("appendonly.aof")
    };
    symlink("/dev/full", aof).expect("a link");
    let server = queue(binary)
        .set("appendonly", &["yes"])
        .try_start(folder)
        .expect("a server");
    let mut con = server.connect();
    wait_until("a write has failed", || {
        con.say("SET k v")
            .error()
            .is_some_and(|error| error.starts_with("MISCONF "))
    });
    let find = refuses(&server, "MISCONF");
    assert_eq!(find("AOF"), "warn: its last write failed");
    assert_eq!(find("snapshots"), "fine: none has failed");
}

/// Without the replicas, the primary or the slots that it needs.
pub fn without_replicas_primary_or_slots(binary: &Binary) {
    let server = queue(binary).start();
    let mut con = server.connect();
    con.must("CONFIG SET min-replicas-to-write 1");
    let find = refuses(&server, "NOREPLICAS");
    assert!(
        find("strategy").starts_with("fine: "),
        "{}",
        find("strategy")
    );
    // To a user who may not try a write the configuration tells it.
    con.must("ACL SETUSER watcher on >secret ~* +@all -lrem");
    let watcher = format!("redis://watcher:secret@127.0.0.1:{}/", server.port);
    let (status, find) = diagnose(&watcher, &[]);
    assert_eq!(
        (find("writes").as_str(), status),
        ("warn: too few replicas", 1)
    );
    let replica = queue(binary).primary().replica_of(server.port).start();
    let mut there = replica.connect();
    in_step(&mut there);
    wait_until("the replica counts", || {
        con.say("INFO replication")
            .to_string()
            .contains("min_slaves_good_slaves:1")
    });
    is_well(&server);
    let (_, find) = diagnose(&watcher, &[]);
    assert!(
        find("writes").starts_with("skipped: "),
        "{}",
        find("writes")
    );

    drop(refuses(&replica, "READONLY"));
    there.must("CONFIG SET replica-serve-stale-data no");
    there.must("REPLICAOF 127.0.0.1 1");
    // 6.2 looks at that last.
    let code = if binary.loads_modules() {
        "MASTERDOWN"
    } else {
        "READONLY"
    };
    let find = refuses(&replica, code);
    assert_eq!(find("replication"), "warn: a replica");
    let expected = if binary.loads_modules() {
        "fine: the module's commands"
    } else {
        // Whether this user may run scripts is not known before it is over.
        "skipped: EVAL failed: MASTERDOWN"
    };
    assert_eq!(find("strategy"), expected);

    // A node of a cluster that has no slots.
    let node = queue(binary).set("cluster-enabled", &["yes"]).start();
    drop(refuses(&node, "CLUSTERDOWN"));
}

/// While the server serves no clients, or no writes.
pub fn while_busy_paused_or_loading(binary: &Binary) {
    // A script that does not end.
    let server = queue(binary).start();
    let mut con = server.connect();
    con.must("CONFIG SET lua-time-limit 1");
    let mut other = server.connect();
    let script = thread::spawn(move || other.call(&["EVAL", "while true do end", "0"]));
    wait_until("it is busy", || {
        con.say("PING")
            .error()
            .is_some_and(|error| error.starts_with("BUSY "))
    });
    let find = refuses(&server, "BUSY");
    assert_eq!(find("memory"), "skipped: INFO memory failed: BUSY");
    // Nor is another database to be had.
    let (status, find) = diagnose(&format!("{}1", url(&server)), &[]);
    assert_eq!(status, 1);
    assert!(
        find("writes").starts_with("warn: BUSY "),
        "{}",
        find("writes")
    );
    con.must("SCRIPT KILL");
    let _ = script.join().expect("the script's end");
    is_well(&server);

    // The maximum number of clients is reached.
    con.must("CONFIG SET maxclients 1");
    let find = refuses(&server, "ERR");
    assert!(find("writes").ends_with("max number of clients reached"));
    assert!(
        find("memory").starts_with("skipped: "),
        "{}",
        find("memory")
    );
    con.must("CONFIG SET maxclients 1000");
    is_well(&server);

    // Clients are paused.
    con.must("CLIENT PAUSE 600000 WRITE");
    let (status, find) = diagnose(&url(&server), &["--timeout", "1"]);
    assert_eq!(status, 1);
    let writes = find("writes");
    assert!(writes.starts_with("warn: timed out"), "{writes}");
    assert_eq!(find("policy"), "fine: noeviction");
    assert!(
        find("permissions").starts_with("skipped: "),
        "{}",
        find("permissions")
    );
    con.must("CLIENT UNPAUSE");
    is_well(&server);

    // It loads data, and serves its clients after every 2 MB.
    con.must("CONFIG SET rdbcompression no");
    con.must("DEBUG POPULATE 100 k 1048576");
    con.must("CONFIG SET key-load-delay 100000");
    let mut other = server.connect();
    let reload = thread::spawn(move || other.try_call(&["DEBUG", "RELOAD"]).is_ok());
    wait_until("it is loading", || {
        con.say("PING")
            .error()
            .is_some_and(|error| error.starts_with("LOADING "))
    });
    let find = refuses(&server, "LOADING");
    assert_eq!(find("policy"), "fine: noeviction");
    drop(server.kill());
    let _ = reload.join();
}
