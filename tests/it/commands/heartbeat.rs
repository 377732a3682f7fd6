//! The heartbeat of a claim, if a field of the hash has expired or another module
//! replaces a key during the call.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use wurk_testkit::{Binary, Resp};

use crate::support::backend::{BACKENDS, script};
use crate::support::inspect::digest;

/// All notifications since the last call.
fn events(con: &mut Resp) -> Vec<String> {
    con.must("PING");
    let mut events = Vec::new();
    loop {
        let event = con.read().expect("an event").to_string();
        if event.contains("\"end\"") {
            return events;
        }
        events.push(event);
    }
}

/// The field `beat` has expired and is not deleted yet: data, notifications and counters
/// are those of the script.
pub fn notifies_of_an_expired_field(binary: &Binary) {
    let shown = BACKENDS.map(|backend| {
        let server = backend
            .options(binary)
            .set("notify-keyspace-events", &["AKE"])
            .start();
        let mut con = server.connect();
        if con.say("COMMAND INFO hpexpire").items()[0].is_nil() {
            return None; // Fields cannot expire on this server.
        }
        con.must("DEBUG SET-ACTIVE-EXPIRE 0");
        let mut listener = server.connect();
        let mut shown = Vec::new();
        // One field of three, the only field, and a field that has not expired.
        for (fields, ttl) in [
            ("info i beat 1 busy 2", 1),
            ("beat 1", 1),
            ("info i beat 1", 60_000),
        ] {
            con.must("FLUSHALL");
            con.must(&format!("HSET id {fields}"));
            con.must(&format!("HPEXPIRE id {ttl} FIELDS 1 beat"));
            thread::sleep(Duration::from_millis(10));
            listener.must("PSUBSCRIBE __key*__:*");
            let keys = ["ps", "id", "q", "p"];
            let reply = backend.call(&mut con, script("claim"), &keys, &["i", "1.5", "60"]);
            con.must("PUBLISH __keyevent@0__:end end");
            shown.push((
                reply,
                events(&mut listener),
                con.say("HGETALL id"),
                con.say("HPTTL id FIELDS 1 beat"),
                con.say("TTL id"),
                digest(&mut con),
            ));
            listener.must("PUNSUBSCRIBE");
        }
        let stats = con.say("INFO stats").to_string();
        let expired = stats
            .split("\\r\\n")
            .filter(|line| line.starts_with("expired_"));
        Some((shown, expired.map(str::to_owned).collect::<Vec<_>>()))
    });
    assert_eq!(shown[0], shown[1], "module and script");
    assert_eq!(
        shown[0].is_some(),
        binary.version >= (7, 4, 0) && fields_can_expire(binary)
    );
}

/// Redis from 7.4 on and Valkey from 9.0 on have fields that expire.
fn fields_can_expire(binary: &Binary) -> bool {
    !binary.name.starts_with("valkey-8") && !binary.name.starts_with("redict")
}

/// Another module, which cargo builds beside the tests: whenever it is told of
/// `hset` or `sadd` it puts a string in the place of the key that is named so.
fn meddler() -> PathBuf {
    let here = std::env::current_exe().expect("the path of this program");
    let module = here
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("examples/libmeddler.so"));
    let module = module.filter(|module| module.exists());
    module.expect("no meddler: run 'cargo build --package wurk --example meddler'")
}

/// The hash becomes a string between two writes: refused as by the script, and
/// the string gets no expiry.
pub fn refuses_a_replaced_key(binary: &Binary) {
    let shown = BACKENDS.map(|backend| {
        let meddler = meddler();
        let server = backend
            .options(binary)
            .set("loadmodule", &[&meddler.to_string_lossy()])
            .start();
        let mut con = server.connect();
        con.must("RPUSH q a");
        let keys = ["ps", "id", "q", "p"];
        let reply = backend.call(&mut con, script("claim"), &keys, &["i", "1.5", "60"]);
        assert!(
            reply.to_string().starts_with("WRONGTYPE "),
            "{backend:?}: {reply}"
        );
        assert_eq!(con.say("GET id").to_string(), r#""meddled""#, "{backend:?}");
        assert_eq!(con.say("TTL id").integer(), Some(-1), "{backend:?}");
        assert_eq!(
            con.say("LRANGE q 0 -1").to_string(),
            r#"["a"]"#,
            "{backend:?}"
        );
        digest(&mut con)
    });
    assert_eq!(shown[0], shown[1], "module and script");
}
