//! Keys, jobs and arguments of any bytes, and of 8 MiB.

use wurk_testkit::{Binary, Reply, Resp, Server};

use crate::support::backend::{BACKENDS, Backend, script};
use crate::support::wait::wait_until;

pub fn accepts_any_byte_anywhere(binary: &Binary) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let awkward: [&[u8]; 9] = [
        b"\0",
        b"\xff\xfe",
        b"\r\n",
        b"$5\r\nhello\r\n",
        b"",
        b"queue:a|host|1|f00|0",
        b"{tag} and spaces",
        b"{}",
        &every_byte,
    ];
    for backend in BACKENDS {
        let server = backend.options(binary).start();
        for mut con in [server.connect(), server.connect3()] {
            for bytes in awkward {
                let key = |name: &str| [name.as_bytes(), bytes].concat();
                let (set, hash, public, private) = (key("ps"), key("id"), key("q"), key("p"));
                con.call(&[b"RPUSH", public.as_slice(), bytes]);
                let keys: [&[u8]; 4] = [&set, &hash, &public, &private];
                let reply = backend.call(&mut con, script("claim"), &keys, &[bytes, bytes, b"60"]);
                let job = Reply::Array(vec![Reply::Integer(1), Reply::Bulk(bytes.to_vec())]);
                assert_eq!(reply, job, "{backend:?}");
                for field in ["info", "beat"] {
                    let reply = con.call(&[b"HGET", hash.as_slice(), field.as_bytes()]);
                    assert_eq!(reply, Reply::Bulk(bytes.to_vec()), "{backend:?}: {field}");
                }
                assert_eq!(
                    con.call(&[b"SISMEMBER", set.as_slice(), &hash]),
                    Reply::Integer(1)
                );
                let reply = backend.call(
                    &mut con,
                    script("requeue"),
                    &[&private, &public],
                    &[&bytes.to_vec()],
                );
                assert_eq!(reply, Reply::Integer(1), "{backend:?}");
                assert_eq!(
                    con.call(&[b"LPOP", public.as_slice()]),
                    Reply::Bulk(bytes.to_vec())
                );
                assert_eq!(
                    con.call(&[b"EXISTS", public.as_slice(), &private]),
                    Reply::Integer(0)
                );
                let lock = key("lock");
                let reply = backend.call(&mut con, script("lock"), &[lock.as_slice()], &[b"60000"]);
                assert_eq!(reply, Reply::Status("OK".into()), "{backend:?}");
                let zset = key("z");
                let reply =
                    backend.call(&mut con, script("zadd"), &[zset.as_slice()], &[b"1", bytes]);
                assert_eq!(reply, Reply::Integer(1), "{backend:?}");
                assert_eq!(
                    con.call(&[b"ZRANGE", zset.as_slice(), b"0", b"-1"]),
                    Reply::Array(vec![Reply::Bulk(bytes.to_vec())])
                );
                let reply = backend.call(
                    &mut con,
                    script("promote"),
                    &[zset.as_slice(), &public],
                    &[bytes, &key("payload")],
                );
                assert_eq!(reply, Reply::Integer(1), "{backend:?}");
                assert_eq!(
                    con.call(&[b"LPOP", public.as_slice()]),
                    Reply::Bulk(key("payload"))
                );
                let other = key("other");
                let reply = backend.call(
                    &mut con,
                    script("beat"),
                    &[set.as_slice(), &other],
                    &[bytes, bytes, b"60"],
                );
                assert_eq!(reply, Reply::Status("OK".into()), "{backend:?}");
                for field in ["info", "beat"] {
                    let reply = con.call(&[b"HGET", other.as_slice(), field.as_bytes()]);
                    assert_eq!(reply, Reply::Bulk(bytes.to_vec()), "{backend:?}: {field}");
                }
                if backend == Backend::Module {
                    wait_for(&server, &mut con, &keys, bytes);
                }
                con.must("FLUSHALL");
            }
            // Bytes that are not a number.
            for ttl in [b"6\0".as_slice(), b"\xff", b"60\r\n", b" 60", b""] {
                let keys = ["ps", "id", "q", "p"].map(str::as_bytes);
                let reply = backend.call(&mut con, script("claim"), &keys, &[b"i", b"1", ttl]);
                let expected = Reply::Error("ERR value is not an integer or out of range".into());
                assert_eq!(reply, expected, "{backend:?}: {}", ttl.escape_ascii());
            }
            let large = vec![b'j'; 8 << 20];
            con.call(&[b"RPUSH", b"q".as_slice(), &large]);
            let reply = backend.call(
                &mut con,
                script("claim"),
                &["ps", "id", "q", "p"],
                &["i", "1", "60"],
            );
            assert!(
                reply == Reply::Array(vec![Reply::Integer(1), Reply::Bulk(large.clone())]),
                "{backend:?}: 8 MiB"
            );
            let reply = backend.call(
                &mut con,
                script("requeue"),
                &[b"p".as_slice(), b"q"],
                &[&large],
            );
            assert_eq!(reply, Reply::Integer(1), "{backend:?}: 8 MiB");
            assert!(
                con.must("LPOP q") == Reply::Bulk(large),
                "{backend:?}: 8 MiB, and back"
            );
            con.must("FLUSHALL");
        }
    }
}

/// The job arrives while a client waits for it.
fn wait_for(server: &Server, con: &mut Resp, keys: &[&[u8]; 4], bytes: &[u8]) {
    let mut waiting = server.connect();
    let call = [
        &[b"WURK.BCLAIM".as_slice()],
        &keys[..],
        &[bytes, bytes, b"60", b"0"],
    ]
    .concat();
    waiting.send(&call).expect("a server");
    wait_until("the client waits", || {
        con.info("clients", "blocked_clients") == 1
    });
    con.call(&[b"RPUSH", keys[2], bytes]);
    let job = Reply::Array(vec![Reply::Integer(1), Reply::Bulk(bytes.to_vec())]);
    assert_eq!(waiting.read().expect("a reply"), job);
    let held = con.call(&[b"LRANGE", keys[3], b"0", b"-1"]);
    assert_eq!(held, Reply::Array(vec![Reply::Bulk(bytes.to_vec())]));
    let info = con.call(&[b"HGET", keys[1], b"info"]);
    assert_eq!(info, Reply::Bulk(bytes.to_vec()));
}
