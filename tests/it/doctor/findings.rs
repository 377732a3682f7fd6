use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use wurk_testkit::{Binary, Options, Server};

use crate::operations::acl;
use crate::support::inspect::digest;

/// The program, which cargo builds beside the tests.
fn program() -> PathBuf {
    let here = std::env::current_exe().expect("the path of this program");
    let program = here
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("wurk-doctor"));
    let program = program.filter(|program| program.exists());
    program.expect("no doctor: run 'cargo build --package wurk-doctor'")
}

pub fn ask(url: &str, more: &[&str]) -> Output {
    Command::new(program())
        .arg(url)
        .args(more)
        .output()
        .expect("a doctor")
}

/// Its findings by topic, `level: found`, and how it ended; of a server that may
/// be in any state.
pub fn diagnose(url: &str, more: &[&str]) -> (i32, impl Fn(&str) -> String + use<>) {
    let output = ask(url, &[&["--json"], more].concat());
    let status = output.status.code().unwrap_or(-1);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{status}: {}", String::from_utf8_lossy(&output.stderr));
    });
    let find = move |topic: &str| {
        let findings = json["findings"].as_array().expect("findings");
        let finding = findings.iter().find(|finding| finding["topic"] == topic);
        finding.map_or("none".to_owned(), |finding| {
            let text = |name| finding[name].as_str().unwrap_or("");
            format!("{}: {}", text("level"), text("found"))
        })
    };
    (status, find)
}

/// The same of a server that can be looked at before and after.
fn findings(server: &Server, user: &str) -> (i32, impl Fn(&str) -> String + use<>) {
    let url = format!("redis://{user}127.0.0.1:{}/", server.port);
    let before = digest(&mut server.connect());
    let diagnosis = diagnose(&url, &[]);
    assert_eq!(digest(&mut server.connect()), before, "it changes nothing");
    let table = String::from_utf8_lossy(&ask(&url, &[]).stdout).into_owned();
    for topic in ["server", "strategy", "writes", "snapshots", "AOF"] {
        assert!(table.contains(topic), "{table}");
    }
    diagnosis
}

fn queue(binary: &Binary) -> Options {
    Options::new(binary)
        .port()
        .set("maxmemory", &["100mb"])
        .set("maxmemory-policy", &["noeviction"])
}

pub fn reports_what_it_found(binary: &Binary) {
    let (major, minor, patch) = binary.version;
    let version = format!("{major}.{minor}.{patch}");
    // All is well, with the module.
    if binary.loads_modules() {
        let server = queue(binary).module().start();
        let (status, find) = findings(&server, "");
        assert_eq!(status, 0);
        assert!(
            find("server").starts_with("fine: ") && find("server").ends_with(&version),
            "{}",
            find("server")
        );
        assert_eq!(
            find("module"),
            format!("fine: loaded, {}", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(find("strategy"), "fine: the module's commands");
        assert_eq!(
            find("permissions"),
            "fine: default may run all commands of the module"
        );
        assert_eq!(find("growth limit"), "fine: none");
        assert_eq!(find("writes"), "fine: taken");
        assert_eq!(find("snapshots"), "fine: none has failed");
        assert_eq!(find("divergence"), "none");
    }
    // All is well, without it.
    let server = queue(binary).start();
    let mut con = server.connect();
    let (status, find) = findings(&server, "");
    assert_eq!(status, 0);
    assert_eq!(find("module"), "fine: not loaded");
    let strategy = if binary.loads_modules() {
        "fine: scripts flagged allow-oom"
    } else {
        "fine: write-first scripts"
    };
    assert_eq!(find("strategy"), strategy);
    // Full.
    con.must("CONFIG SET maxmemory 500000");
    let (status, find) = findings(&server, "");
    assert_eq!(status, 1);
    assert!(find("memory").starts_with("warn: "), "{}", find("memory"));
    // No limit, and a policy that throws jobs away.
    con.must("CONFIG SET maxmemory 0");
    con.must("CONFIG SET maxmemory-policy allkeys-lru");
    let (status, find) = findings(&server, "");
    assert_eq!(status, 1);
    assert_eq!(find("maxmemory"), "warn: no limit");
    assert_eq!(find("policy"), "warn: allkeys-lru");
    con.must("CONFIG SET maxmemory 100mb");
    con.must("CONFIG SET maxmemory-policy noeviction");
    // A user that may run no scripts: no strategy at all.
    con.must("ACL SETUSER poor on >secret ~* +@all -@scripting");
    let (status, find) = findings(&server, "poor:secret@");
    assert_eq!(status, 1);
    assert_eq!(find("strategy"), "warn: none: no module, and no scripts");
    // A user that may do little, and sees little.
    con.must("ACL SETUSER blind on >secret ~queue:* -@all +lmove +eval");
    let (status, find) = findings(&server, "blind:secret@");
    assert_eq!(status, 1);
    assert_eq!(find("strategy"), "warn: none: no module, and no scripts");
    assert!(
        find("scripts").starts_with("fine: this user may not type, time, hset, "),
        "{}",
        find("scripts")
    );
    for topic in [
        "server",
        "maxmemory",
        "policy",
        "memory",
        "growth limit",
        "replication",
        "writes",
        "snapshots",
        "AOF",
    ] {
        assert!(
            find(topic).starts_with("skipped: this user may not run "),
            "{topic}: {}",
            find(topic)
        );
    }
    // One that may do just what README's line for scripts says.
    con.must(acl::readme(1));
    let (status, find) = findings(&server, "worker:secret@");
    assert_eq!((status, find("strategy")), (0, strategy.to_owned()));
    con.must("ACL SETUSER worker -rpush -sadd -lmove");
    let (_, find) = findings(&server, "worker:secret@");
    let expected = if binary.loads_modules() {
        "fine: this user may not lmove, sadd, rpush in one"
    } else {
        "fine: this user may not lmove in one"
    };
    assert_eq!(find("scripts"), expected);
    // A password is missing.
    con.must("CONFIG SET requirepass secret");
    let output = ask(&format!("redis://127.0.0.1:{}/", server.port), &[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.starts_with("refused: ") && text.contains("Authentication required"),
        "{text}"
    );
    con.call(&["CONFIG", "SET", "requirepass", ""]);
    // There is no such database.
    let output = ask(&format!("redis://127.0.0.1:{}/99", server.port), &[]);
    assert_eq!(output.status.code(), Some(2));
    // A replica takes no writes.
    con.must("REPLICAOF 127.0.0.1 1");
    let (status, find) = findings(&server, "");
    assert_eq!(
        (status, find("replication").as_str()),
        (1, "warn: a replica")
    );
    if binary.loads_modules() {
        a_right_is_missing(binary);
    }
}

/// With the module, and a user that may not call it.
fn a_right_is_missing(binary: &Binary) {
    let server = queue(binary).module_with(&["growth-limit", "15"]).start();
    let mut con = server.connect();
    con.must("ACL SETUSER poor on >secret ~* +@all -wurk.claim -wurk.zadd");
    let (status, find) = findings(&server, "poor:secret@");
    assert_eq!(status, 1);
    assert_eq!(
        find("strategy"),
        "warn: none: this user may not run WURK.CLAIM"
    );
    assert_eq!(
        find("permissions"),
        "warn: poor may not wurk.claim, wurk.zadd"
    );
    assert_eq!(find("growth limit"), "fine: 15 % past maxmemory");
}

pub fn reports_that_nothing_answers() {
    assert_eq!(
        ask("redis://127.0.0.1/", &["--nonsense"]).status.code(),
        Some(64)
    );
    assert_eq!(ask("not:an:address", &[]).status.code(), Some(64));
    let output = ask("redis://127.0.0.1:1/", &["--timeout", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("no answer: "));
    // One that takes the connection and says nothing.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = silent.local_addr().expect("its number").port();
    let output = ask(
        &format!("redis://127.0.0.1:{port}/"),
        &["--timeout", "1", "--json"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"error\""));
    // One that turns away whom it does not know.
    let closed = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = closed.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        for stream in closed.incoming() {
            let said = b"-DENIED Redis is running in protected mode because ...\r\n";
            let _ = stream.and_then(|mut stream| stream.write_all(said));
        }
    });
    let output = ask(&format!("redis://127.0.0.1:{port}/"), &[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.starts_with("refused: ") && text.contains("protected mode"),
        "{text}"
    );
}
