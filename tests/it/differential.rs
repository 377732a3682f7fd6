use std::env;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use wurk_testkit::{Binary, Reply, Resp, Server, aof};

use crate::door::{Door, alike, digest, script};
use crate::junk::seed;

/// Calls on each server, where `WURK_STEPS` says nothing else.
const STEPS: usize = 20_000;

/// Steps between two looks at data and events.
const LOOK: usize = 50;

/// Steps that a database lives.
const AGE: usize = 2_000;

/// How many jobs a node of a list holds, from one to all of them.
const LISTPACKS: [&str; 5] = ["-2", "-5", "1", "3", "128"];

/// How far apart the two may be asked, in milliseconds.
const SLACK: i64 = 20_000;

const QUEUES: [&str; 4] = ["q0", "q1", "q2", "q3"];
const PRIVATE: [&str; 4] = ["p0", "p1", "p2", "p3"];
const KEYS: [&str; 14] = [
    "q0", "q1", "q2", "q3", "p0", "p1", "p2", "p3", "ps", "id0", "id1", "l", "z", "gone",
];
const JOBS: [&str; 6] = [
    "a",
    "b",
    "",
    "12",
    "\0\r\n",
    "a long job that no small encoding likes: .........................................................",
];
const TTLS: [&str; 12] = [
    "60",
    "60",
    "60",
    "60",
    "60",
    "1000",
    "0",
    "-1",
    "x",
    "9223372036854775807",
    "9223372036854775808",
    "9223370000000000",
];
/// Of a lock, in milliseconds: none runs out before the run does.
const LOCK_TTLS: [&str; 7] = [
    "600000",
    "900000",
    "0",
    "-1",
    "x",
    "9223372036854775807",
    "9223372036854775808",
];
const SCORES: [&str; 8] = ["1", "2.5", "-inf", "1e3", "nan", "x", "NX", ""];

/// One of the two servers, and what it has shown.
struct Side {
    door: Door,
    server: Server,
    con: Resp,
    events: Resp,
}

impl Side {
    fn start(binary: &Binary, door: Door) -> Self {
        let server = door
            .options(binary)
            .set("appendonly", &["yes"])
            .set("notify-keyspace-events", &["AKEmn"])
            .start();
        let mut con = server.connect();
        con.must("DEBUG SET-ACTIVE-EXPIRE 0");
        let mut events = server.connect();
        events.must("PSUBSCRIBE __key*__:*");
        events.must("SUBSCRIBE end");
        Self {
            door,
            server,
            con,
            events,
        }
    }

    fn call(&mut self, step: &Step) -> Reply {
        match step {
            Step::Plain(command) => self.con.call(command),
            // One that waits, but not for long, does what one does that does not.
            Step::Call {
                name: "bclaim",
                keys,
                args,
            } => {
                let mut command = self.door.command(script("claim"), keys, args);
                if self.door == Door::Module {
                    command[0] = b"WURK.BCLAIM".to_vec();
                    command.push(b"0.001".to_vec());
                }
                self.con.call(&command)
            }
            Step::Call { name, keys, args } => {
                self.door.call(&mut self.con, script(name), keys, args)
            }
        }
    }

    /// All events since the last look.
    fn events(&mut self) -> Vec<String> {
        self.con.must("PUBLISH end here");
        let mut events = Vec::new();
        loop {
            let event = self.events.read().expect("an event").to_string();
            if event.starts_with(r#"["message""#) {
                return events;
            }
            events.push(event);
        }
    }
}

#[derive(Debug)]
enum Step {
    Plain(Vec<Vec<u8>>),
    Call {
        name: &'static str,
        keys: Vec<Vec<u8>>,
        args: Vec<Vec<u8>>,
    },
}

pub fn module_and_script_agree(binary: &Binary) {
    let seed = seed();
    let steps = env::var("WURK_STEPS")
        .ok()
        .and_then(|steps| steps.parse().ok())
        .unwrap_or(STEPS);
    let mut random = Rng::with_seed(seed);
    let sides = [Door::Module, Door::Script];
    let mut sides = sides.map(|door| Side::start(binary, door));
    let mut full = false;
    for step in 0..steps {
        if step % AGE == 0 {
            let listpack = LISTPACKS[random.usize(..LISTPACKS.len())];
            for side in &mut sides {
                side.con.must("FLUSHALL");
                side.con
                    .must(&format!("CONFIG SET list-max-listpack-size {listpack}"));
            }
        }
        if random.usize(..40) == 0 {
            full = !full;
            for side in &mut sides {
                side.con
                    .must(&format!("CONFIG SET maxmemory {}", usize::from(full)));
            }
        }
        let mut lapse = None;
        let batch = match random.usize(..2_000) {
            0 => {
                // Far enough away that both servers hear of it before.
                let at = since_1970() + Duration::from_millis(1_500);
                lapse = Some(at);
                let at = at.as_millis().to_string().into_bytes();
                vec![Step::Plain(vec![
                    b"PEXPIREAT".to_vec(),
                    pick(&mut random, &KEYS),
                    at,
                ])]
            }
            1..168 => in_multi(&mut random),
            _ => vec![any_step(&mut random)],
        };
        for one in &batch {
            let [ours, theirs] = [0, 1].map(|side| deep(&sides[side].call(one)));
            assert_eq!(ours, theirs, "WURK_SEED={seed}, step {step}: {one:?}");
        }
        // A key that is to lapse does so on both servers between two steps.
        match lapse.map(|lapse| lapse.checked_sub(since_1970())) {
            None => {}
            Some(Some(wait)) => thread::sleep(wait + Duration::from_millis(2)),
            Some(None) => panic!("WURK_SEED={seed}: the machine stood still for too long"),
        }
        if step % LOOK == LOOK - 1 {
            let [ours, theirs] = [0, 1].map(|side| sides[side].events());
            assert_eq!(ours, theirs, "WURK_SEED={seed}: events up to step {step}");
            let [ours, theirs] = [0, 1].map(|side| digest(&mut sides[side].con));
            assert_eq!(ours, theirs, "WURK_SEED={seed}: data at step {step}");
            // Of an expiry the digest knows only that there is one.
            for key in KEYS {
                let [ours, theirs] = [0, 1].map(|side| {
                    let left = sides[side].con.must(&format!("PTTL {key}"));
                    left.integer().expect("milliseconds")
                });
                assert!(
                    (ours - theirs).abs() < SLACK && (ours < 0) == (theirs < 0),
                    "WURK_SEED={seed}: {key} lives for {ours} and {theirs} ms at step {step}"
                );
            }
        }
    }
    let [ours, theirs] = sides.map(|side| {
        let Side { server, .. } = side;
        let stopped = server.stop();
        aof::commands(stopped.folder())
    });
    assert!(
        ours.len() > steps / 4,
        "the AOF holds only {} commands",
        ours.len()
    );
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!(
            same_command(ours, theirs),
            "WURK_SEED={seed}: AOF at {at}: {} and {}",
            show(ours),
            show(theirs)
        );
        assert!(
            !ours[0].to_ascii_lowercase().starts_with(b"wurk"),
            "WURK_SEED={seed}: {}",
            show(ours)
        );
    }
    assert_eq!(
        ours.len(),
        theirs.len(),
        "WURK_SEED={seed}: commands in the AOF"
    );
}

/// A reply without what may differ: also inside that to `EXEC`, errors as errors
/// may, and one that has waited has the nil and the name of `BLMOVE`'s kind.
fn deep(reply: &Reply) -> Reply {
    match alike(reply) {
        Reply::Array(items) => Reply::Array(items.iter().map(deep).collect()),
        Reply::Nil(_) => Reply::Nil("nil"),
        Reply::Error(text) => Reply::Error(text.replace("'wurk.bclaim'", "'wurk.claim'")),
        reply => reply,
    }
}

/// Equal but for moments: they are as far apart as the two calls were.
fn same_command(ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> bool {
    let moment = |bytes: &[u8]| -> Option<i64> {
        let text = std::str::from_utf8(bytes).ok()?;
        (text.len() >= 13).then(|| text.parse().ok())?
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(a, b)| {
            a == b
                || moment(a)
                    .zip(moment(b))
                    .is_some_and(|(a, b)| (a - b).abs() < SLACK)
        })
}

fn show(command: &[Vec<u8>]) -> String {
    command
        .iter()
        .map(|arg| arg.escape_ascii().to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn pick(random: &mut Rng, from: &[&str]) -> Vec<u8> {
    from[random.usize(..from.len())].as_bytes().to_vec()
}

fn any_step(random: &mut Rng) -> Step {
    if random.usize(..10) < 4 {
        return plain(random);
    }
    let mut call = call(random);
    // Now and then with an argument too few or too many.
    if random.usize(..30) == 0 {
        let Step::Call { keys, args, .. } = &mut call else {
            return call;
        };
        match random.usize(..3) {
            0 => drop(args.pop()),
            1 => args.push(pick(random, &JOBS)),
            _ => {
                // Counted from the end, a key too few is an argument too few.
                if keys.len() > 4 {
                    keys.pop();
                }
            }
        }
    }
    call
}

fn plain(random: &mut Rng) -> Step {
    let key = pick(random, &KEYS);
    let queue = pick(random, &QUEUES);
    let job = pick(random, &JOBS);
    let word = |text: &str| text.as_bytes().to_vec();
    Step::Plain(match random.usize(..26) {
        24 if random.usize(..20) == 0 => {
            let many = std::iter::repeat_n(job, 300);
            [word("LPUSH"), queue].into_iter().chain(many).collect()
        }
        25 if random.usize(..20) == 0 => {
            let member = |number: u32| number.to_string().into_bytes();
            let many = (0..300).map(member);
            [word("SADD"), key].into_iter().chain(many).collect()
        }
        24 | 25 => vec![word("SELECT"), pick(random, &["0", "0", "1"])],
        0..10 => vec![word("LPUSH"), queue, job],
        10 => vec![word("RPUSH"), pick(random, &PRIVATE), job],
        11 => vec![word("LREM"), pick(random, &PRIVATE), word("1"), job],
        12 => vec![word("SET"), key, job],
        13 => vec![word("SADD"), key, job],
        14 => vec![word("HSET"), key, word("beat"), job],
        15 => vec![word("ZADD"), key, word("1"), job],
        16 => vec![word("XADD"), key, word("1-1"), word("a"), job],
        17..19 => vec![word("EXPIRE"), key, word("500")],
        19 => vec![word("PERSIST"), key],
        _ => vec![word("DEL"), key],
    })
}

fn call(random: &mut Rng) -> Step {
    match random.usize(..10) {
        0..6 => {
            let mut keys = vec![
                pick(random, &["ps", "ps", "ps", "ps", "q0", "id0"]),
                pick(random, &["id0", "id1", "id1", "ps"]),
            ];
            for _ in 0..random.usize(1..5) {
                if random.usize(..20) == 0 {
                    keys.extend([pick(random, &KEYS), pick(random, &KEYS)]);
                } else {
                    let queue = random.usize(..QUEUES.len());
                    keys.extend([QUEUES[queue], PRIVATE[queue]].map(|key| key.as_bytes().to_vec()));
                }
            }
            let args = vec![
                pick(random, &JOBS),
                pick(random, &["1.5", "2.5", ""]),
                pick(random, &TTLS),
            ];
            let name = if random.usize(..5) == 0 {
                "bclaim"
            } else {
                "claim"
            };
            Step::Call { name, keys, args }
        }
        6..8 => {
            let odd = random.usize(..20) == 0;
            let keys = if odd {
                [&KEYS[..], &KEYS]
            } else {
                [&PRIVATE[..], &QUEUES]
            };
            Step::Call {
                name: "requeue",
                keys: keys.map(|keys| pick(random, keys)).into(),
                args: vec![pick(random, &JOBS)],
            }
        }
        8 => Step::Call {
            name: "lock",
            keys: vec![pick(random, &["l", "l", "q0"])],
            args: vec![pick(random, &LOCK_TTLS)],
        },
        _ => Step::Call {
            name: "zadd",
            keys: vec![pick(random, &["z", "z", "q0"])],
            args: vec![pick(random, &SCORES), pick(random, &JOBS)],
        },
    }
}

/// Some steps in a transaction. None with a wrong number of arguments: the
/// server knows that of a command before it queues it, of a script only after.
fn in_multi(random: &mut Rng) -> Vec<Step> {
    let one = |name: &str| Step::Plain(vec![name.as_bytes().to_vec()]);
    let mut steps = vec![one("MULTI")];
    for _ in 0..random.usize(1..5) {
        steps.push(if random.bool() {
            call(random)
        } else {
            plain(random)
        });
    }
    steps.push(one("EXEC"));
    steps
}
