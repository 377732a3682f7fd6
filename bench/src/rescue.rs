//! What `wurk.rescue-users` costs: a user who is not named, and one who is.

use wurk_testkit::{Binary, Reply, Resp};

use crate::comparison::{
    Comparison,
    Row::{Difference, Ratio},
    Way,
};
use crate::filtered::{Call, Filter, Filtered, User};
use crate::pipeline::succeeds;

const LMOVE: [&str; 5] = ["LMOVE", "queue", "queue", "RIGHT", "LEFT"];
const SCRIPT: &str = "return redis.call('SET', KEYS[1], ARGV[1])";

/// Prints both tables.
pub(crate) fn tables(binary: &Binary, rounds: usize) {
    let start = |has_module| Filtered::start(binary, has_module, prepare);
    of_others().print(binary, rounds, || [false, false, true].map(start).into());
    of_named().print(binary, rounds, || vec![start(true)]);
}

fn of_others() -> Comparison {
    let way = |name, server, filter| Way {
        name,
        server,
        filter,
        user: User::Plain,
        fills: true,
    };
    let job = job();
    let (get, set) = (["GET", "key"], ["SET", "key", &job]);
    let [again, without, nobody, empty, named] = [0, 1, 2, 3, 4];
    Comparison {
        title: "a user who is not named",
        calls: vec![
            call("GET", &get, false, succeeds),
            call("SET", &set, false, succeeds),
            call("HSET", &["HSET", "hash", "field", &job], false, succeeds),
            call("LMOVE", &LMOVE, false, succeeds),
            call("GET, full", &get, true, succeeds),
            call("SET, full: refused", &set, true, is_oom),
        ],
        ways: vec![
            way("no module, again", 0, Filter::None),
            way("no module", 1, Filter::None),
            way("nobody named", 2, Filter::None),
            way("empty filter", 2, Filter::Empty),
            way("somebody else named", 2, Filter::Rescue),
        ],
        rows: vec![
            Ratio(again, without),
            Ratio(nobody, without),
            Ratio(named, nobody),
            Difference(empty, nobody),
            Difference(named, empty),
        ],
    }
}

fn of_named() -> Comparison {
    let way = |name, filter, user, fills| Way {
        name,
        server: 0,
        filter,
        user,
        fills,
    };
    let job = job();
    let [plain, named, rescued] = [0, 1, 2];
    Comparison {
        title: "a user who is named",
        calls: vec![
            call("SET", &["SET", "key", &job], true, succeeds),
            call("LMOVE", &LMOVE, true, succeeds),
            call("ZADD", &["ZADD", "sorted", "1", &job], true, succeeds),
            call("EVAL", &["EVAL", SCRIPT, "1", "key", &job], true, succeeds),
        ],
        ways: vec![
            way("not full, nobody named", Filter::None, User::Plain, false),
            way("not full, named", Filter::Rescue, User::Worker, false),
            way("full, rescued", Filter::Rescue, User::Worker, true),
        ],
        rows: vec![
            Difference(named, plain),
            Difference(rescued, plain),
            Ratio(rescued, plain),
        ],
    }
}

/// The keys of all calls, so that none of them grows.
fn prepare(con: &mut Resp) {
    let job = job();
    con.must(&format!("SET key {job}"));
    con.must(&format!("HSET hash field {job}"));
    con.must(&format!("ZADD sorted 1 {job}"));
    for _ in 0..16 {
        con.must(&format!("LPUSH queue {job}"));
    }
}

fn job() -> String {
    "j".repeat(200)
}

fn call(name: &'static str, words: &[&str], full: bool, is_expected: fn(&Reply) -> bool) -> Call {
    Call {
        name,
        command: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
        full,
        is_expected,
    }
}

/// Whether a full server has refused a call.
fn is_oom(reply: &Reply) -> bool {
    reply.error().is_some_and(|error| error.starts_with("OOM "))
}
