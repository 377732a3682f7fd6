//! Random commands of every type of value.

use fastrand::Rng;

/// A command, and whether a full server may refuse it.
#[derive(Clone, Debug)]
pub struct Step {
    pub command: Vec<Vec<u8>>,
    pub refusable: bool,
}

impl Step {
    /// Whether it runs a script.
    pub fn is_script(&self) -> bool {
        [b"EVAL".as_slice(), b"EVALSHA", b"FCALL"].contains(&self.command[0].as_slice())
    }
}

/// Keys, most of which mostly hold one type.
pub const KEYS: [&str; 16] = [
    "s0", "s1", "h0", "h1", "l0", "l1", "l2", "t0", "t1", "z0", "z1", "g0", "x0", "x1", "p0",
    "k\0\r\n",
];

const VALUES: [&str; 9] = [
    "a",
    "b",
    "",
    "12",
    "-3",
    "3.5",
    "\0\r\n\u{ff}",
    "member",
    "a long value that no small encoding likes: .............................................",
];

/// Templates of commands that a full server may refuse. `{s}` is a key that mostly
/// holds a string (`h` a hash, `l` a list, `t` a set, `z` a sorted set, `x` a
/// stream, `g` places, `p` a HyperLogLog), `{k}` any key, `{v}` a value, `{i}` an
/// integer, `{f}` a float, `{n}` a stream's id.
const REFUSABLE: &[&str] = &[
    "SET {s} {v}",
    "SET {k} {v} EX 5000",
    "SET {s} {v} NX GET",
    "SET {s} {v} XX KEEPTTL",
    "SETEX {s} 5000 {v}",
    "PSETEX {s} 5000000 {v}",
    "SETNX {s} {v}",
    "GETSET {s} {v}",
    "APPEND {s} {v}",
    "INCR {s}",
    "DECRBY {s} {i}",
    "INCRBYFLOAT {s} {f}",
    "SETRANGE {s} {i} {v}",
    "SETBIT {s} {i} 1",
    "BITOP OR {s} {s} {s}",
    "BITFIELD {s} INCRBY u8 {i} 7",
    "MSET {s} {v} {s} {v}",
    "MSETNX {s} {v} {s} {v}",
    "COPY {k} {k}",
    "COPY {k} {k} REPLACE",
    "PFADD {p} {v} {v}",
    "PFMERGE {p} {p}",
    "HSET {h} {v} {v}",
    "HMSET {h} {v} {v} {v} {v}",
    "HSETNX {h} {v} {v}",
    "HINCRBY {h} n {i}",
    "HINCRBYFLOAT {h} n {f}",
    "LPUSH {l} {v} {v}",
    "RPUSH {l} {v}",
    "LPUSHX {l} {v}",
    "LINSERT {l} BEFORE {v} {v}",
    "LSET {l} {i} {v}",
    "LMOVE {l} {l} RIGHT LEFT",
    "LMOVE {l} {k} LEFT LEFT",
    "RPOPLPUSH {l} {l}",
    "BLMOVE {l} {l} RIGHT LEFT 0.001",
    "BLMOVE {k} {l} LEFT RIGHT 0.001",
    "BLMOVE {l} {l} RIGHT LEFT -1",
    "BRPOPLPUSH {l} {l} 0.001",
    "BRPOPLPUSH {l} {l} x",
    "SORT {l} ALPHA STORE {l}",
    "SADD {t} {v} {v}",
    "SINTERSTORE {t} {t} {t}",
    "SUNIONSTORE {t} {t} {t}",
    "SDIFFSTORE {t} {t} {t}",
    "ZADD {z} {f} {v}",
    "ZADD {z} GT CH {f} {v} {i} {v}",
    "ZADD {z} INCR {f} {v}",
    "ZADD {z} x {v}",
    "ZINCRBY {z} {f} {v}",
    "ZUNIONSTORE {z} 2 {z} {z}",
    "ZRANGESTORE {z} {z} 0 -1",
    "GEOADD {g} 13.361389 38.115556 {v}",
    "GEOSEARCHSTORE {g} {g} FROMLONLAT 15 37 BYRADIUS 200 km",
    "XADD {x} {n} f {v}",
    "XADD {x} MAXLEN 3 {n} f {v}",
    "XGROUP CREATE {x} {v} 0 MKSTREAM",
    "XGROUP CREATECONSUMER {x} {v} {v}",
    "XSETID {x} {n}",
    "FUNCTION LOAD REPLACE {library}",
    "FCALL move 2 {l} {l}",
    "FCALL move 1 {l}",
    "EVAL {push} 1 {l} {v}",
    "EVAL {reads} 1 {k}",
    "EVAL {flagged} 1 {s} {v}",
    "EVAL {readonly} 1 {s}",
    "EVAL {maps} 1 {h}",
    "EVAL {fails} 1 {s}",
    "EVALSHA ffffffffffffffffffffffffffffffffffffffff 1 {s}",
    "SET {s}",
    "XGROUP CREATE {x}",
    "HSET {h} {v}",
];

/// What no full server refuses.
const PLAIN: &[&str] = &[
    "DEL {k}",
    "DEL {k} {k}",
    "EXPIRE {k} 5000",
    "PERSIST {k}",
    "TYPE {k}",
    "GET {s}",
    "HGET {h} n",
    "LRANGE {l} 0 -1",
    "LREM {l} 1 {v}",
    "LPOP {l}",
    "SREM {t} {v}",
    "SCARD {t}",
    "ZRANGE {z} 0 -1 WITHSCORES",
    "ZREM {z} {v}",
    "ZSCORE {z} {v}",
    "XLEN {x}",
    "XDEL {x} 1-1",
    "PFCOUNT {p}",
    "SELECT 1",
    "SELECT 0",
    "SELECT 0",
];

const LIBRARY: &str = "#!lua name=rescue\nredis.register_function('move', function(keys) \
                       return redis.call('LMOVE', keys[1], keys[2], 'RIGHT', 'LEFT') end)";

fn script(name: &str) -> Option<&'static str> {
    Some(match name {
        "library" => LIBRARY,
        "push" => "redis.call('RPUSH', KEYS[1], ARGV[1]) return redis.call('LLEN', KEYS[1])",
        "reads" => "return redis.call('TYPE', KEYS[1])",
        "flagged" => "#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], ARGV[1])",
        "readonly" => "#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])",
        "maps" => "redis.setresp(3) redis.call('HSET', KEYS[1], 'n', 1) return {map={n='1'}}",
        "fails" => "redis.call('SET', KEYS[1], 'x') return redis.call('INCR', KEYS[1])",
        _ => return None,
    })
}

/// A command; in two of three cases one that a full server may refuse.
pub fn any(random: &mut Rng) -> Step {
    let refusable = random.usize(..3) > 0;
    let templates = if refusable { REFUSABLE } else { PLAIN };
    let template = templates[random.usize(..templates.len())];
    Step {
        command: fill(random, template),
        refusable,
    }
}

/// A plain command by name.
pub fn plain(line: &str) -> Step {
    Step {
        command: line
            .split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect(),
        refusable: false,
    }
}

fn fill(random: &mut Rng, template: &str) -> Vec<Vec<u8>> {
    let words = template.split(' ').map(|word| {
        let Some(name) = word
            .strip_prefix('{')
            .and_then(|word| word.strip_suffix('}'))
        else {
            return word.as_bytes().to_vec();
        };
        if let Some(script) = script(name) {
            return script.as_bytes().to_vec();
        }
        let text = match name {
            "v" => VALUES[random.usize(..VALUES.len())].to_owned(),
            "i" => random.i32(-2..40).to_string(),
            "f" => ["1", "2.5", "-7", "1e3"][random.usize(..4)].to_owned(),
            "n" => format!("{}-{}", random.u32(1..9), random.u32(1..9)),
            "k" => KEYS[random.usize(..KEYS.len())].to_owned(),
            // Now and then a key of another type.
            _ if random.usize(..12) == 0 => KEYS[random.usize(..KEYS.len())].to_owned(),
            letter => {
                let of_type: Vec<_> = KEYS.iter().filter(|key| key.starts_with(letter)).collect();
                of_type[random.usize(..of_type.len())].to_string()
            }
        };
        text.into_bytes()
    });
    words.collect()
}
