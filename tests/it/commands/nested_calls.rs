//! The commands called from scripts, functions and transactions, on a full server.

use wurk_testkit::{Binary, Options, Resp};

/// A call, and its reply if the job is in `q`.
const CALLS: [(&str, &str); 6] = [
    ("WURK.CLAIM ps id q p i 1.5 60", r#"[(integer) 1, "job"]"#),
    ("WURK.REQUEUE p q job", "(integer) 1"),
    (
        "WURK.BCLAIM ps id q p i 1.5 60 1",
        r#"[(integer) 1, "job"]"#,
    ),
    ("WURK.BCLAIM ps id q p i 1.5 60 0", "nil"),
    ("WURK.LOCK l 60000", "OK"),
    ("WURK.ZADD z 1.5 m", "(integer) 1"),
];

fn given(con: &mut Resp) {
    con.must("CONFIG SET maxmemory 0");
    con.must("FLUSHALL");
    con.must("RPUSH q job");
    con.must("CONFIG SET maxmemory 1");
}

pub fn are_served_on_a_full_server(binary: &Binary) {
    let server = Options::new(binary).module().start();
    let mut con = server.connect();
    let library = "#!lua name=try\nredis.register_function{function_name='try', flags={'allow-oom'}, \
                   callback=function(keys, args) return redis.call(unpack(args)) end}";
    assert_eq!(
        con.call(&["FUNCTION", "LOAD", library]).to_string(),
        r#""try""#
    );
    let plain = "return redis.call(unpack(ARGV))";
    let flagged = format!("#!lua flags=allow-oom\n{plain}");
    for before in [
        &["EVAL", plain, "0"],
        &["EVAL", &flagged, "0"],
        &["FCALL", "try", "0"],
    ] {
        given(&mut con);
        for (call, expected) in CALLS {
            let words: Vec<_> = call.split(' ').collect();
            let reply = con.call(&[before.as_slice(), &words].concat());
            assert_eq!(reply.to_string(), expected, "{call} by {before:?}");
        }
    }
    given(&mut con);
    con.must("MULTI");
    let queued: Vec<_> = CALLS
        .iter()
        .map(|(call, _)| con.say(call).to_string())
        .collect();
    // Before 7.2 a full server queues no command at all.
    if binary.version < (7, 2, 0) {
        assert!(
            queued.iter().all(|reply| reply.starts_with("OOM ")),
            "{queued:?}"
        );
        con.must("DISCARD");
        return;
    }
    let replies = con.must("EXEC");
    let replies: Vec<_> = replies.items().iter().map(ToString::to_string).collect();
    let expected: Vec<_> = CALLS.iter().map(|(_, reply)| (*reply).to_owned()).collect();
    assert_eq!(replies, expected);
}
