//! Random commands of many kinds, some of which fail.

use fastrand::Rng;
use redis::{Cmd, Pipeline};

const KEYS: [&str; 6] = ["a", "b", "c", "\u{e9}\r\n", "", "list"];
const VALUES: [&[u8]; 7] = [b"", b"1", b"-5", b"2.5", b"text", b"\0\xff\r\n", b"x y"];

/// Kinds of commands: the last is not one, the one before it has too few arguments, the
/// third last is a script.
const KINDS: u8 = 44;

/// A command: of each type of data, with keys that may hold another.
pub fn command(random: &mut Rng) -> Cmd {
    of_kind(random, KINDS)
}

fn of_kind(random: &mut Rng, kinds: u8) -> Cmd {
    let key = KEYS[random.usize(..KEYS.len())];
    let other = KEYS[random.usize(..KEYS.len())];
    let value = VALUES[random.usize(..VALUES.len())];
    let mut command = Cmd::new();
    match random.u8(..kinds) {
        0 => command.arg("SET").arg(key).arg(value),
        1 => command.arg("SET").arg(key).arg(value).arg(&["NX", "GET"]),
        2 => command.arg("GET").arg(key),
        3 => command.arg("INCRBY").arg(key).arg(7),
        4 => command.arg("INCRBYFLOAT").arg(key).arg("0.25"),
        5 => command.arg("APPEND").arg(key).arg(value),
        6 => command.arg("HSET").arg(key).arg(value).arg(value),
        7 => command.arg("HGETALL").arg(key),
        8 => command
            .arg("HMGET")
            .arg(key)
            .arg(value)
            .arg("none")
            .arg("1"),
        9 => command.arg("HINCRBYFLOAT").arg(key).arg("f").arg(value),
        10 => command.arg("LPUSH").arg(key).arg(value).arg("more"),
        11 => command.arg("RPUSH").arg(key).arg(value),
        12 => command
            .arg("LMOVE")
            .arg(key)
            .arg(other)
            .arg(&["LEFT", "RIGHT"]),
        13 => command.arg("RPOPLPUSH").arg(key).arg(other),
        14 => command.arg("LRANGE").arg(key).arg(&["0", "-1"]),
        15 => command.arg("LREM").arg(key).arg(1).arg(value),
        16 => command
            .arg("LINSERT")
            .arg(key)
            .arg("BEFORE")
            .arg("more")
            .arg(value),
        17 => command.arg("SADD").arg(key).arg(value),
        18 => command.arg("SCARD").arg(key),
        19 => command.arg("SISMEMBER").arg(key).arg(value),
        20 => command.arg("ZADD").arg(key).arg("1.5").arg(value),
        21 => command.arg("ZADD").arg(key).arg("INCR").arg("2").arg(value),
        22 => command.arg("ZSCORE").arg(key).arg(value),
        23 => command.arg("ZMSCORE").arg(key).arg(value).arg("none"),
        24 => command
            .arg("ZRANGE")
            .arg(key)
            .arg(&["0", "-1", "WITHSCORES"]),
        25 => command.arg("ZINCRBY").arg(key).arg("inf").arg(value),
        26 => command.arg("ZREM").arg(key).arg(value),
        27 => command.arg("XADD").arg(key).arg("*-*").arg("f").arg(value),
        28 => command
            .arg("XADD")
            .arg("stream")
            .arg(format!("{}-1", random.u16(1..)))
            .arg("f")
            .arg(value),
        29 => command.arg("XRANGE").arg("stream").arg(&["-", "+"]),
        30 => command
            .arg("XGROUP")
            .arg("CREATE")
            .arg("stream")
            .arg(value)
            .arg("0")
            .arg("MKSTREAM"),
        31 => command.arg("DEL").arg(key),
        32 => command.arg("EXPIRE").arg(key).arg(10_000),
        33 => command.arg("PERSIST").arg(key),
        34 => command.arg("SETRANGE").arg(key).arg(3).arg(value),
        35 => command.arg("GETSET").arg(key).arg(value),
        36 => command.arg("MSET").arg(key).arg(value).arg("m").arg(value),
        37 => command.arg("COPY").arg(key).arg(other),
        38 => command.arg("SUNIONSTORE").arg(other).arg(key),
        39 => command
            .arg("GEOADD")
            .arg(key)
            .arg("13.36")
            .arg("38.11")
            .arg("Palermo"),
        40 => command.arg("GEOPOS").arg(key).arg("Palermo").arg("none"),
        41 => eval(&mut command, random, key, value),
        42 => command.arg("SET").arg(key),
        _ => command.arg("NOSUCH").arg(value),
    };
    command
}

fn eval<'c>(command: &'c mut Cmd, random: &mut Rng, key: &str, value: &[u8]) -> &'c mut Cmd {
    const TEXTS: [&str; 5] = [
        "return redis.call('SET', KEYS[1], ARGV[1])",
        "return {redis.call('RPUSH', KEYS[1], ARGV[1]), false, {'x', 1}, 3}",
        "redis.call('HSET', KEYS[1], 'f', ARGV[1]) return redis.call('HGETALL', KEYS[1])",
        "if redis.call('EXISTS', KEYS[1]) == 1 then return {err = 'MINE it is there'} end",
        "return redis.pcall('ZADD', KEYS[1], 'nan', ARGV[1])",
    ];
    let text = TEXTS[random.usize(..TEXTS.len())];
    command.arg("EVAL").arg(text).arg(1).arg(key).arg(value)
}

/// Two to five commands.
pub fn pipeline(random: &mut Rng, atomic: bool) -> Pipeline {
    let mut pipeline = redis::pipe();
    if atomic {
        pipeline.atomic();
    }
    // What cannot be queued ends a transaction; what nobody knows a script has other
    // words for.
    let kinds = if atomic { KINDS - 2 } else { KINDS - 1 };
    for _ in 0..random.u8(2..6) {
        pipeline.add_command(of_kind(random, kinds));
    }
    pipeline
}
