//! The contract as a table: a call, its reply, and the data before and after.

/// A case of the contract.
pub struct Case {
    /// What it shows.
    pub shows: &'static str,
    /// The commands before the call.
    pub given: &'static [&'static str],
    /// The call: its name, its keys, a bar, its other arguments.
    pub call: &'static str,
    /// The reply, as `Reply` prints it. An error that begins with `ERR`,
    /// `WRONGTYPE` and so on has changed nothing, unless `then` says otherwise.
    pub reply: &'static str,
    /// Commands after the call, and their replies.
    pub then: &'static [(&'static str, &'static str)],
}

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

const NO_INTEGER: &str = "ERR value is not an integer or out of range";

const NO_FLOAT: &str = "ERR value is not a valid float";

const CLAIM_ARITY: &str = "ERR wrong number of arguments for 'wurk.claim' command";

const CLAIM_EXPIRE: &str = "ERR invalid expire time in 'wurk.claim' command";

const PROMOTE_ARITY: &str = "ERR wrong number of arguments for 'wurk.promote' command";

const BEAT_ARITY: &str = "ERR wrong number of arguments for 'wurk.beat' command";

const BEAT_EXPIRE: &str = "ERR invalid expire time in 'wurk.beat' command";

const LOCK_EXPIRE: &str = "ERR invalid expire time in 'wurk.lock' command";

const fn case(
    shows: &'static str,
    given: &'static [&'static str],
    call: &'static str,
    reply: &'static str,
    then: &'static [(&'static str, &'static str)],
) -> Case {
    Case {
        shows,
        given,
        call,
        reply,
        then,
    }
}

#[rustfmt::skip]
pub const CASES: &[Case] = &[
    // WURK.CLAIM: the job
    case("the tail of the public list goes to the head of the private one",
        &["RPUSH q a b c", "RPUSH q:p x"],
        "claim ps id q q:p | i 1.5 60", r#"[(integer) 1, "c"]"#,
        &[("LRANGE q 0 -1", r#"["a", "b"]"#), ("LRANGE q:p 0 -1", r#"["c", "x"]"#)]),
    case("the first list that holds a job is taken, later lists are not read",
        &["RPUSH q2 b", "SET q3 no-list"],
        "claim ps id q1 p1 q2 p2 q3 p3 | i 1.5 60", r#"[(integer) 2, "b"]"#,
        &[("EXISTS q2", "(integer) 0"), ("LRANGE p2 0 -1", r#"["b"]"#)]),
    case("the order of the lists is the order of the claim",
        &["RPUSH q1 a", "RPUSH q2 b"],
        "claim ps id q2 p2 q1 p1 | i 1.5 60", r#"[(integer) 1, "b"]"#,
        &[("LLEN q1", "(integer) 1")]),
    case("nothing when every list is empty",
        &[],
        "claim ps id q1 p1 q2 p2 | i 1.5 60", "nil",
        &[("EXISTS p1 p2", "(integer) 0")]),
    case("an empty job is a job",
        &["EVAL return(redis.call('RPUSH','q','')) 0"],
        "claim ps id q q:p | i 1.5 60", r#"[(integer) 1, ""]"#,
        &[("LRANGE q:p 0 -1", r#"[""]"#)]),
    case("a list that is public and private at once is turned round",
        &["RPUSH q a b"],
        "claim ps id q q | i 1.5 60", r#"[(integer) 1, "b"]"#,
        &[("LRANGE q 0 -1", r#"["b", "a"]"#)]),
    // WURK.CLAIM: the heartbeat
    case("a process that is not known gets its hash and its place in the set",
        &[],
        "claim ps id q q:p | i 1.5 60", "nil",
        &[("HGET id info", r#""i""#), ("HGET id beat", r#""1.5""#), ("HLEN id", "(integer) 2"),
          ("TTL id", "(integer) 60"), ("SMEMBERS ps", r#"["id"]"#)]),
    case("an existing hash keeps its info and all else, and the process is not added again",
        &["HSET id info old busy 3 beat 0.5"],
        "claim ps id q q:p | i 1.5 60", "nil",
        &[("HGET id info", r#""old""#), ("HGET id beat", r#""1.5""#), ("HGET id busy", r#""3""#),
          ("TTL id", "(integer) 60"), ("EXISTS ps", "(integer) 0")]),
    case("the heartbeat is also written if a job is found",
        &["RPUSH q a", "HSET id info old", "EXPIRE id 5"],
        "claim ps id q q:p | i 2.5 90", r#"[(integer) 1, "a"]"#,
        &[("HGET id beat", r#""2.5""#), ("TTL id", "(integer) 90")]),
    case("a ttl may be as long as an expiry can be",
        &[],
        "claim ps id q q:p | i 1.5 9223370000000000", "nil",
        &[("HGET id beat", r#""1.5""#)]),
    // WURK.CLAIM: refused before the first write
    case("no list", &["HSET id a b"], "claim ps id | i 1.5 60", CLAIM_ARITY, &[]),
    case("a list without its private one", &["RPUSH q a"], "claim ps id q | i 1.5 60", CLAIM_ARITY, &[]),
    case("an odd pair", &["RPUSH q a"], "claim ps id q q:p r | i 1.5 60", CLAIM_ARITY, &[]),
    case("nothing but a name", &[], "claim | ", CLAIM_ARITY, &[]),
    case("a ttl of zero", &["RPUSH q a"], "claim ps id q q:p | i 1.5 0", CLAIM_EXPIRE, &[]),
    case("a negative ttl", &["RPUSH q a"], "claim ps id q q:p | i 1.5 -1", CLAIM_EXPIRE, &[]),
    case("the least ttl", &["RPUSH q a"], "claim ps id q q:p | i 1.5 -9223372036854775808", CLAIM_EXPIRE, &[]),
    case("a ttl past what an expiry holds", &["RPUSH q a"], "claim ps id q q:p | i 1.5 9223372036854775", CLAIM_EXPIRE, &[]),
    case("the greatest ttl", &["RPUSH q a"], "claim ps id q q:p | i 1.5 9223372036854775807", CLAIM_EXPIRE, &[]),
    case("a ttl of more than 64 bits", &["RPUSH q a"], "claim ps id q q:p | i 1.5 9223372036854775808", NO_INTEGER, &[]),
    case("a ttl below 64 bits", &["RPUSH q a"], "claim ps id q q:p | i 1.5 -9223372036854775809", NO_INTEGER, &[]),
    case("a ttl of twenty digits", &["RPUSH q a"], "claim ps id q q:p | i 1.5 10000000000000000000", NO_INTEGER, &[]),
    case("a ttl that is a word", &["RPUSH q a"], "claim ps id q q:p | i 1.5 soon", NO_INTEGER, &[]),
    case("a ttl with a fraction", &["RPUSH q a"], "claim ps id q q:p | i 1.5 60.0", NO_INTEGER, &[]),
    case("a ttl with a sign", &["RPUSH q a"], "claim ps id q q:p | i 1.5 +60", NO_INTEGER, &[]),
    case("a ttl with a leading zero", &["RPUSH q a"], "claim ps id q q:p | i 1.5 060", NO_INTEGER, &[]),
    case("a ttl of minus zero", &["RPUSH q a"], "claim ps id q q:p | i 1.5 -0", NO_INTEGER, &[]),
    case("a ttl in hexadecimal", &["RPUSH q a"], "claim ps id q q:p | i 1.5 0x3c", NO_INTEGER, &[]),
    case("the ttl is checked before the types", &["SET id x"], "claim ps id q q:p | i 1.5 soon", NO_INTEGER, &[]),
    case("processes is no set", &["SET ps x", "RPUSH q a"], "claim ps id q q:p | i 1.5 60", WRONG_TYPE, &[]),
    case("processes is no set, although the hash exists", &["ZADD ps 1 x", "HSET id a b", "RPUSH q a"], "claim ps id q q:p | i 1.5 60", WRONG_TYPE, &[]),
    case("identity is no hash", &["SADD id x", "RPUSH q a"], "claim ps id q q:p | i 1.5 60", WRONG_TYPE, &[]),
    case("one key cannot be the set and the hash", &["RPUSH q a"], "claim ps ps q q:p | i 1.5 60", WRONG_TYPE, &[]),
    // WURK.CLAIM: a wrong type on the way
    case("a public list of another type: the heartbeat has been written, no job has moved",
        &["SET q1 x", "RPUSH q2 a"],
        "claim ps id q1 p1 q2 p2 | i 1.5 60", WRONG_TYPE,
        &[("HGET id beat", r#""1.5""#), ("SMEMBERS ps", r#"["id"]"#), ("LRANGE q2 0 -1", r#"["a"]"#), ("GET q1", r#""x""#)]),
    case("a private list of another type, of a public that holds a job",
        &["RPUSH q a", "SET q:p x"],
        "claim ps id q q:p | i 1.5 60", WRONG_TYPE,
        &[("HGET id beat", r#""1.5""#), ("LRANGE q 0 -1", r#"["a"]"#), ("GET q:p", r#""x""#)]),
    case("a private list of another type does not matter without a job",
        &["SET p1 x", "RPUSH q2 a"],
        "claim ps id q1 p1 q2 p2 | i 1.5 60", r#"[(integer) 2, "a"]"#,
        &[("GET p1", r#""x""#)]),
    case("the hash itself is no list", &[],
        "claim ps id id q:p | i 1.5 60", WRONG_TYPE,
        &[("HGET id beat", r#""1.5""#)]),
    // WURK.REQUEUE
    case("a job returns to the end that is claimed next",
        &["RPUSH q a b", "RPUSH q:p x j y"],
        "requeue q:p q | j", "(integer) 1",
        &[("LRANGE q 0 -1", r#"["a", "b", "j"]"#), ("LRANGE q:p 0 -1", r#"["x", "y"]"#)]),
    case("of two equal jobs the first one moves",
        &["RPUSH q:p j x j"],
        "requeue q:p q | j", "(integer) 1",
        &[("LRANGE q 0 -1", r#"["j"]"#), ("LRANGE q:p 0 -1", r#"["x", "j"]"#)]),
    case("the last job of a private list",
        &["RPUSH q:p j"],
        "requeue q:p q | j", "(integer) 1",
        &[("LRANGE q 0 -1", r#"["j"]"#), ("EXISTS q:p", "(integer) 0")]),
    case("a job that has left the private list",
        &["RPUSH q a", "RPUSH q:p x"],
        "requeue q:p q | j", "(integer) 0",
        &[("LRANGE q 0 -1", r#"["a"]"#), ("LRANGE q:p 0 -1", r#"["x"]"#)]),
    case("no private list", &["RPUSH q a"], "requeue q:p q | j", "(integer) 0", &[("LLEN q", "(integer) 1")]),
    case("a list that is public and private at once",
        &["RPUSH q j a"], "requeue q q | j", "(integer) 1", &[("LRANGE q 0 -1", r#"["a", "j"]"#)]),
    case("a private list of another type", &["SET q:p x"], "requeue q:p q | j", WRONG_TYPE, &[]),
    case("a public list of another type", &["SET q x", "RPUSH q:p j"], "requeue q:p q | j", WRONG_TYPE, &[]),
    case("a public list of another type, though the job has left", &["SET q x"], "requeue q:p q | j", WRONG_TYPE, &[]),
    case("one argument too few", &[], "requeue q:p q | ", "ERR wrong number of arguments for 'wurk.requeue' command", &[]),
    case("one argument too many", &[], "requeue q:p q | j k", "ERR wrong number of arguments for 'wurk.requeue' command", &[]),
    // WURK.LOCK
    case("a free lock is taken", &[], "lock l | 30000", "OK",
        &[("GET l", r#""1""#), ("TTL l", "(integer) 30")]),
    case("a held lock is not", &["SET l other PX 99000"], "lock l | 30000", "nil",
        &[("GET l", r#""other""#), ("TTL l", "(integer) 99")]),
    case("a key of any type holds the lock", &["RPUSH l a"], "lock l | 30000", "nil", &[("LLEN l", "(integer) 1")]),
    case("a ttl of zero, of a lock", &[], "lock l | 0", LOCK_EXPIRE, &[]),
    case("a negative ttl, of a lock", &[], "lock l | -5", LOCK_EXPIRE, &[]),
    case("a bad ttl, of a held lock", &["SET l x"], "lock l | 0", LOCK_EXPIRE, &[]),
    case("a ttl past what an expiry holds, of a lock", &[], "lock l | 9223372036854775807", LOCK_EXPIRE, &[]),
    case("a ttl that is a word, of a lock", &[], "lock l | soon", NO_INTEGER, &[]),
    case("a ttl of more than 64 bits, of a lock", &[], "lock l | 9223372036854775808", NO_INTEGER, &[]),
    case("no ttl", &[], "lock l | ", "ERR wrong number of arguments for 'wurk.lock' command", &[]),
    case("two ttls", &[], "lock l | 1 2", "ERR wrong number of arguments for 'wurk.lock' command", &[]),
    // WURK.ZADD
    case("a member is added", &["ZADD z 1 a"], "zadd z | 2.5 b", "(integer) 1", &[("ZSCORE z b", r#""2.5""#), ("ZCARD z", "(integer) 2")]),
    case("a score is updated", &["ZADD z 1 a"], "zadd z | 2 a", "(integer) 0", &[("ZSCORE z a", r#""2""#)]),
    case("the same score again", &["ZADD z 1 a"], "zadd z | 1 a", "(integer) 0", &[("ZSCORE z a", r#""1""#)]),
    case("an infinite score", &[], "zadd z | -inf a", "(integer) 1", &[("ZSCORE z a", r#""-inf""#)]),
    case("a score that is no number", &["ZADD z 1 a"], "zadd z | nan a", NO_FLOAT, &[]),
    case("a score that is a word", &["ZADD z 1 a"], "zadd z | late a", NO_FLOAT, &[]),
    case("a score that is one of ZADD's options", &["ZADD z 1 a"], "zadd z | NX a", "ERR syntax error", &[]),
    case("a set that is none", &["RPUSH z a"], "zadd z | 1 a", WRONG_TYPE, &[]),
    case("no member", &[], "zadd z | 1", "ERR wrong number of arguments for 'wurk.zadd' command", &[]),
    case("two members", &[], "zadd z | 1 a 2 b", "ERR wrong number of arguments for 'wurk.zadd' command", &[]),
    // WURK.PROMOTE
    case("a job goes to the end that is claimed last",
        &["RPUSH q a b", "ZADD z 1 j 2 k"],
        "promote z q | j", "(integer) 1",
        &[("LRANGE q 0 -1", r#"["j", "a", "b"]"#), ("ZRANGE z 0 -1", r#"["k"]"#)]),
    case("the payload goes there in its place",
        &["ZADD z 1 id-7"],
        "promote z q | id-7 {}", "(integer) 1",
        &[("LRANGE q 0 -1", r#"["{}"]"#), ("EXISTS z", "(integer) 0")]),
    case("a job that has left the set: another poller was faster",
        &["RPUSH q a", "ZADD z 1 k"],
        "promote z q | j", "(integer) 0",
        &[("LRANGE q 0 -1", r#"["a"]"#), ("ZRANGE z 0 -1", r#"["k"]"#)]),
    case("no set", &["RPUSH q a"], "promote z q | j", "(integer) 0", &[("LLEN q", "(integer) 1")]),
    case("a member that is no job", &["ZADD z 1 j"], "promote z q | 1", "(integer) 0", &[("EXISTS q", "(integer) 0")]),
    case("a set of another type", &["SADD z j"], "promote z q | j", WRONG_TYPE, &[]),
    case("a queue of another type", &["SET q x", "ZADD z 1 j"], "promote z q | j", WRONG_TYPE, &[]),
    case("a queue of another type, though the job has left", &["SET q x"], "promote z q | j", WRONG_TYPE, &[]),
    case("one key cannot be the set and the queue", &["ZADD z 1 j"], "promote z z | j", WRONG_TYPE, &[]),
    case("no job", &["ZADD z 1 j"], "promote z q | ", PROMOTE_ARITY, &[]),
    case("two payloads", &["ZADD z 1 j"], "promote z q | j a b", PROMOTE_ARITY, &[]),
    // WURK.BEAT
    case("the heartbeat of a process that is not known",
        &[],
        "beat ps id | i 1.5 60", "OK",
        &[("HGET id info", r#""i""#), ("HGET id beat", r#""1.5""#), ("HLEN id", "(integer) 2"),
          ("TTL id", "(integer) 60"), ("SMEMBERS ps", r#"["id"]"#)]),
    case("the heartbeat of a known one",
        &["HSET id info old busy 3 beat 0.5", "EXPIRE id 5"],
        "beat ps id | i 1.5 60", "OK",
        &[("HGET id info", r#""old""#), ("HGET id beat", r#""1.5""#), ("HGET id busy", r#""3""#),
          ("TTL id", "(integer) 60"), ("EXISTS ps", "(integer) 0")]),
    case("a ttl of zero, of a heartbeat", &["HSET id a b"], "beat ps id | i 1.5 0", BEAT_EXPIRE, &[]),
    case("a ttl past what an expiry holds, of a heartbeat", &[], "beat ps id | i 1.5 9223372036854775", BEAT_EXPIRE, &[]),
    case("a ttl that is a word, of a heartbeat", &["SET id x"], "beat ps id | i 1.5 soon", NO_INTEGER, &[]),
    case("processes is no set, of a heartbeat", &["SET ps x"], "beat ps id | i 1.5 60", WRONG_TYPE, &[]),
    case("identity is no hash, of a heartbeat", &["SET id x"], "beat ps id | i 1.5 60", WRONG_TYPE, &[]),
    case("one key cannot be both, of a heartbeat", &[], "beat id id | i 1.5 60", WRONG_TYPE, &[]),
    case("no ttl, of a heartbeat", &[], "beat ps id | i 1.5", BEAT_ARITY, &[]),
    case("a list too many, of a heartbeat", &[], "beat ps id q | i 1.5 60", BEAT_ARITY, &[]),
];
