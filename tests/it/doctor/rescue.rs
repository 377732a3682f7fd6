//! Whom the doctor finds named in `wurk.rescue-users`, and what keeps them from being
//! rescued.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use wurk_testkit::{Binary, Options, Resp, Server};

use super::findings::{ask, diagnose};
use crate::rescue::{has_filter, queues_when_full};

/// A server that could rescue, with a limit, and its address.
pub fn start(binary: &Binary) -> (Server, String) {
    let options = Options::new(binary).port().module();
    let server = options.set("maxmemory", &["100mb"]).start();
    let url = format!("redis://127.0.0.1:{}/", server.port);
    (server, url)
}

pub fn name<A: AsRef<[u8]>>(con: &mut Resp, names: A) {
    let setting = [b"CONFIG", b"SET".as_slice(), b"wurk.rescue-users"];
    let reply = con.call(&[&setting[..], &[names.as_ref()]].concat());
    assert_eq!(reply.to_string(), "OK");
}

/// Every finding of a topic, as `level: found`.
fn rows(url: &str, topic: &str) -> Vec<String> {
    let output = ask(url, &["--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&output).expect("its findings");
    let rows = json["findings"].as_array().expect("findings").iter();
    let rows = rows.filter(|row| row["topic"] == topic);
    rows.map(|row| {
        let text = |name| row[name].as_str().expect("a text");
        format!("{}: {}", text("level"), text("found"))
    })
    .collect()
}

pub fn finds_who_is_named(binary: &Binary) {
    let (server, url) = start(binary);
    let mut con = server.connect();
    let (status, find) = diagnose(&url, &[]);
    assert_eq!((status, find("rescue users").as_str()), (0, "fine: nobody"));
    for topic in ["MULTI", "rescue user", "rescue memory", "rescues"] {
        assert_eq!(find(topic), "none");
    }

    con.must("ACL SETUSER worker on >secret ~* +@all");
    name(&mut con, "worker");
    let level = if has_filter(binary) { "fine" } else { "warn" };
    let (status, find) = diagnose(&url, &[]);
    assert_eq!(find("rescue users"), format!("{level}: worker"));
    let absent = "fine: no client is logged in as worker";
    assert_eq!(find("rescue user"), absent);
    let queues = queues_when_full(binary);
    assert_eq!(status, i32::from(!queues));
    assert_eq!(find("MULTI") == "none", queues, "{}", find("MULTI"));

    // Nor does it count itself.
    let own = format!("redis://worker:secret@127.0.0.1:{}/", server.port);
    assert_eq!(rows(&own, "rescue user"), [absent]);
    let mut worker = server.connect();
    worker.must("AUTH worker secret");
    assert_eq!(rows(&url, "rescue user"), [] as [&str; 0]);
}

/// Each of these by itself, and several together.
pub fn finds_what_is_wrong_with_them(binary: &Binary) {
    let (server, url) = start(binary);
    let mut con = server.connect();
    con.must("ACL SETUSER worker on >secret +@all");
    let mut worker = server.connect();
    worker.must("AUTH worker secret");
    let denied = "warn: worker may not wurk.rescue";
    let off = "warn: worker is off";
    let missing = "warn: nosuch does not exist";
    let default = "warn: default is named";
    let powerless = "warn: worker may run nothing that a full server refuses";
    for (permissions, names, expected) in [
        ("on +@all", "worker", &[][..]),
        // It may, but no key is one of its own: that is the library's affair.
        ("on resetkeys ~queue:* +@all", "worker", &[]),
        ("on +@all -wurk.rescue", "worker", &[denied]),
        ("off +@all", "worker", &[off]),
        ("off +@all -wurk.rescue", "worker", &[off, denied]),
        ("on +@all", "worker nosuch", &[missing]),
        ("on +@all", "default worker", &[default]),
        ("on +@all", "nosuch default", &[missing, default]),
        ("on -@all +wurk.rescue +get", "worker", &[powerless]),
        (
            "on -@all +wurk.rescue +lmove",
            "worker",
            &["fine: worker may not rpoplpush, blmove, brpoplpush"],
        ),
        (
            "on -@all +wurk.rescue +zadd",
            "worker",
            &["fine: worker may not lmove, rpoplpush, blmove, brpoplpush"],
        ),
    ] {
        con.must(&format!(
            "ACL SETUSER worker reset >secret ~* {permissions}"
        ));
        name(&mut con, names);
        let found = rows(&url, "rescue user");
        assert_eq!(found, expected, "{permissions}, {names}");
        let warned = found.iter().any(|row| row.starts_with("warn: "));
        let status = ask(&url, &[]).status.code();
        let status = status.filter(|_| queues_when_full(binary));
        assert!(status.is_none_or(|status| status == i32::from(warned)));
    }
    // A name is bytes.
    let odd = b"w\xe9rk".as_slice();
    name(&mut con, odd);
    assert_eq!(rows(&url, "rescue user").len(), 1);
    con.call(&[
        b"ACL",
        b"SETUSER".as_slice(),
        odd,
        b"on",
        b"nopass",
        b"+@all",
    ]);
    worker.call(&[b"AUTH", odd, b"x"]);
    assert_eq!(rows(&url, "rescue user"), [] as [&str; 0]);
    // What a user who may not ask is told.
    name(&mut con, "worker");
    con.must("ACL SETUSER half on >secret +@all -acl|dryrun");
    con.must("ACL SETUSER blind on >secret -@all +ping");
    let url = |user: &str| format!("redis://{user}:secret@127.0.0.1:{}/", server.port);
    let found = rows(&url("half"), "rescue user");
    assert_eq!(found, ["skipped: this user may not run ACL"]);
    let found = rows(&url("blind"), "rescue users");
    assert_eq!(found, ["skipped: this user may not run CONFIG"]);
}

/// Redis 7.2 has the filter and queues nothing in MULTI: this server, with another
/// version in its reply to `INFO`.
pub fn knows_what_7_2_lacks(binary: &Binary) {
    let (server, _) = start(binary);
    let mut con = server.connect();
    con.must("ACL SETUSER worker on >secret ~* +@all");
    name(&mut con, "worker");
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let to = server.port;
    thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            thread::spawn(move || pretend(client, to));
        }
    });
    let (status, find) = diagnose(&format!("redis://127.0.0.1:{port}/"), &[]);
    assert!(find("server").contains(" 7.2."), "{}", find("server"));
    assert_eq!(find("rescue users"), "fine: worker");
    assert!(find("MULTI").starts_with("warn: "), "{}", find("MULTI"));
    assert_eq!(status, 1);
}

/// Passes everything on, but for the version.
fn pretend(mut client: TcpStream, to: u16) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", to))?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || io::copy(&mut from_client, &mut to_server));
    let (theirs, ours) = (b"redis_version:8.2.", b"redis_version:7.2.");
    let mut bytes = [0; 1 << 14];
    loop {
        let read = server.read(&mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        let reply = &mut bytes[..read];
        let mut windows = reply.windows(theirs.len());
        if let Some(at) = windows.position(|part| part == theirs) {
            reply[at..at + ours.len()].copy_from_slice(ours);
        }
        client.write_all(reply)?;
    }
}
