//! The random calls of the differential test.

use fastrand::Rng;

const QUEUES: [&str; 4] = ["q0", "q1", "q2", "q3"];

const PRIVATE: [&str; 4] = ["p0", "p1", "p2", "p3"];

pub const KEYS: [&str; 15] = [
    "q0", "q1", "q2", "q3", "p0", "p1", "p2", "p3", "ps", "id0", "id1", "l", "z", "z2", "gone",
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

/// The ttls of a lock, in milliseconds: none expires during the run.
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

#[derive(Debug)]
pub enum Step {
    Plain(Vec<Vec<u8>>),
    Call {
        name: &'static str,
        keys: Vec<Vec<u8>>,
        args: Vec<Vec<u8>>,
    },
}

pub fn pick(random: &mut Rng, from: &[&str]) -> Vec<u8> {
    from[random.usize(..from.len())].as_bytes().to_vec()
}

pub fn any_step(random: &mut Rng) -> Step {
    if random.usize(..10) < 4 {
        return plain(random);
    }
    let mut call = call(random);
    // Sometimes with one argument too few or too many.
    if random.usize(..30) == 0 {
        let Step::Call { keys, args, .. } = &mut call else {
            return call;
        };
        match random.usize(..3) {
            0 => drop(args.pop()),
            1 => args.push(pick(random, &JOBS)),
            _ => {
                // A key too few is an argument too few, since these are counted from the end.
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
        15 => {
            let set = if random.bool() { word("z2") } else { key };
            vec![word("ZADD"), set, word("1"), job]
        }
        16 => vec![word("XADD"), key, word("1-1"), word("a"), job],
        17..19 => vec![word("EXPIRE"), key, word("500")],
        19 => vec![word("PERSIST"), key],
        _ => vec![word("DEL"), key],
    })
}

fn call(random: &mut Rng) -> Step {
    match random.usize(..13) {
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
        9..11 => {
            let odd = random.usize(..20) == 0;
            let set = pick(random, if odd { &KEYS } else { &["z", "z2"] });
            let queue = pick(random, if odd { &KEYS } else { &QUEUES });
            let payload = (random.usize(..4) == 0).then(|| pick(random, &JOBS));
            Step::Call {
                name: "promote",
                keys: vec![set, queue],
                args: [pick(random, &JOBS)].into_iter().chain(payload).collect(),
            }
        }
        11 => Step::Call {
            name: "beat",
            keys: vec![
                pick(random, &["ps", "ps", "ps", "q0", "id0"]),
                pick(random, &["id0", "id1", "id1", "ps"]),
            ],
            args: vec![
                pick(random, &JOBS),
                pick(random, &["1.5", "2.5", ""]),
                pick(random, &TTLS),
            ],
        },
        _ => Step::Call {
            name: "zadd",
            keys: vec![pick(random, &["z", "z", "z2", "q0"])],
            args: vec![pick(random, &SCORES), pick(random, &JOBS)],
        },
    }
}

/// Some steps in a transaction, all with the right number of arguments: the server checks
/// that of a command when it queues it, and of a script only when it runs it.
pub fn in_multi(random: &mut Rng) -> Vec<Step> {
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
