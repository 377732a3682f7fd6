//! Tens of thousands of random calls with awkward arguments: none stops the server.

use fastrand::Rng;
use wurk_testkit::{Binary, Options, Resp};

use crate::support::random::seed;

/// Calls on each server.
const CALLS: usize = 20_000;

const WORDS: &[&[u8]] = &[
    b"",
    b"0",
    b"1",
    b"-1",
    b"60",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"1.5",
    b"nan",
    b"inf",
    b"-inf",
    b"1e400",
    b" 1",
    b"1 ",
    b"0x10",
    b"\0",
    b"a\0b",
    b"\xff\xff",
    b"\r\n",
    b"%s%n%d",
    b"{a}",
    b"{b}",
    b"'",
    b"\"",
    b"NX",
    b"XX",
    b"string",
    b"list",
    b"hash",
    b"set",
    b"zset",
    b"stream",
    b"gone",
    b"q",
    b"p",
    b"id",
    b"ps",
];

/// Timeouts that are short or invalid.
const SHORT: &[&[u8]] = &[
    b"0.001", b"0.001", b"0.001", b"-1", b"nan", b"inf", b"1e400", b"", b"x", b"1\0", b"\xff",
];

/// What is rescued, and what is not.
const INNER: &[&[u8]] = &[
    b"SET",
    b"LMOVE",
    b"BLMOVE",
    b"BRPOPLPUSH",
    b"ZADD",
    b"XGROUP",
    b"FUNCTION",
    b"EVAL",
    b"EVALSHA",
    b"FCALL",
    b"SORT",
    b"ZUNIONSTORE",
    b"MSET",
    b"RESTORE",
    b"WURK.RESCUE",
    b"GET",
    b"",
    b"set\0",
];

pub fn no_input_stops_the_server(binary: &Binary) {
    let seed = seed();
    let mut random = Rng::with_seed(seed);
    let server = Options::new(binary)
        .module_with(&["rescue-users", "default", "rescue-limit", "0"])
        .start();
    let mut con = server.connect();
    fill(&mut con);
    let long = vec![b'x'; 1 << 16];
    let mut queued = 0;
    for call in 0..CALLS {
        if call % 500 == 0 {
            let limit = ["0", "1"][random.usize(..2)];
            con.call(&["CONFIG", "SET", "maxmemory", limit]);
        }
        let name: &[u8] = [
            b"WURK.CLAIM".as_slice(),
            b"WURK.REQUEUE",
            b"wurk.lock",
            b"Wurk.Zadd",
            b"WURK.BCLAIM",
            b"WURK.RESCUE",
            b"COMMAND",
            b"WURK.PROMOTE",
            b"wurk.beat",
        ][random.usize(..9)];
        // Mostly the right number, sometimes none, sometimes hundreds.
        let count = match random.usize(..20) {
            0 => random.usize(..300),
            1..4 => random.usize(..12),
            _ => match name {
                b"WURK.CLAIM" => 5 + 2 * random.usize(1..5),
                b"WURK.BCLAIM" => 5 + 2 * random.usize(1..5),
                b"wurk.lock" => 2,
                b"wurk.beat" => 5,
                _ => 3,
            },
        };
        let mut command = vec![name];
        if name == b"COMMAND" {
            command.extend([b"GETKEYSANDFLAGS".as_slice(), b"WURK.RESCUE"]);
        }
        let inner = INNER[random.usize(..INNER.len())];
        if name == b"COMMAND" || name == b"WURK.RESCUE" {
            command.push(inner);
        }
        command.extend((0..count).map(|_| match random.usize(..400) {
            0 => long.as_slice(),
            _ => WORDS[random.usize(..WORDS.len())],
        }));
        let waits = name == b"WURK.RESCUE" && matches!(inner, b"BLMOVE" | b"BRPOPLPUSH");
        if name == b"WURK.BCLAIM" || waits {
            command.push(SHORT[random.usize(..SHORT.len())]); // Nothing else ends a wait.
        }
        if queued == 0 && random.usize(..20) == 0 {
            con.call(&["MULTI"]);
            queued = random.usize(1..6);
        }
        con.call(&command);
        if queued > 0 {
            queued -= 1;
            if queued == 0 {
                con.call(&["EXEC"]);
            }
        }
        if call % 1_000 == 999 && queued == 0 {
            con.must("CONFIG SET maxmemory 0");
            con.must("FLUSHALL");
            fill(&mut con);
        }
    }
    let mut con = server.connect();
    assert_eq!(con.say("PING").to_string(), "PONG", "WURK_SEED={seed}");
    con.must("CONFIG SET maxmemory 0");
    con.must("FLUSHALL");
    con.must("RPUSH q j");
    let reply = con.say("WURK.CLAIM ps id q q:p i 1 60");
    assert_eq!(
        reply.to_string(),
        r#"[(integer) 1, "j"]"#,
        "WURK_SEED={seed}"
    );
}

/// A key of every type.
fn fill(con: &mut Resp) {
    for line in [
        "SET string x",
        "RPUSH list 1 q",
        "HSET hash beat 0",
        "SADD set id",
        "ZADD zset 1 m",
        "XADD stream * a b",
        "RPUSH q a b c 1 q",
        "RPUSH p 1 a",
        "SET gone x PX 1",
    ] {
        con.must(line);
    }
}
