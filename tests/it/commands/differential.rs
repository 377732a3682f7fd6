//! Random calls to two servers, one by the module and one by the scripts: replies,
//! data, keyspace events and append-only files are the same.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, thread};

use fastrand::Rng;
use wurk_testkit::{Binary, Reply, Resp, Server, aof};

use super::random_steps::{KEYS, Step, any_step, in_multi, pick};
use crate::support::backend::{Backend, normalize, script};
use crate::support::events::Events;
use crate::support::inspect::digest;
use crate::support::random::seed;

/// Calls to each server, unless `WURK_STEPS` is set.
const STEPS: usize = 20_000;

/// Steps between two comparisons of data and events.
const COMPARE: usize = 50;

/// Steps between two FLUSHALL.
const FLUSH: usize = 2_000;

/// Sizes of the nodes of a list, from one job to all of them.
const LISTPACKS: [&str; 5] = ["-2", "-5", "1", "3", "128"];

/// How far apart in time the two servers may be called, in milliseconds.
const SLACK: i64 = 20_000;

/// One of the two servers.
struct Side {
    backend: Backend,
    server: Server,
    con: Resp,
    events: Events,
}

impl Side {
    fn start(binary: &Binary, backend: Backend) -> Self {
        let server = backend
            .options(binary)
            .set("appendonly", &["yes"])
            .set("notify-keyspace-events", &["AKEmn"])
            .start();
        let mut con = server.connect();
        con.must("DEBUG SET-ACTIVE-EXPIRE 0");
        let events = Events::of(&server);
        Self {
            backend,
            server,
            con,
            events,
        }
    }

    fn call(&mut self, step: &Step) -> Reply {
        match step {
            Step::Plain(command) => self.con.call(command),
            // A call with a short wait has the effects of one without.
            Step::Call {
                name: "bclaim",
                keys,
                args,
            } => {
                let mut command = self.backend.command(script("claim"), keys, args);
                if self.backend == Backend::Module {
                    command[0] = b"WURK.BCLAIM".to_vec();
                    command.push(b"0.001".to_vec());
                }
                self.con.call(&command)
            }
            Step::Call { name, keys, args } => {
                self.backend.call(&mut self.con, script(name), keys, args)
            }
        }
    }

    /// All events since the last comparison.
    fn events(&mut self) -> Vec<String> {
        self.events.since(&mut self.con)
    }
}

pub fn module_and_script_agree(binary: &Binary) {
    let seed = seed();
    let steps = env::var("WURK_STEPS")
        .ok()
        .and_then(|steps| steps.parse().ok())
        .unwrap_or(STEPS);
    let mut random = Rng::with_seed(seed);
    let sides = [Backend::Module, Backend::Script];
    let mut sides = sides.map(|backend| Side::start(binary, backend));
    let mut full = false;
    for step in 0..steps {
        if step % FLUSH == 0 {
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
        let mut expiry = None;
        let batch = match random.usize(..2_000) {
            0 => {
                // Far enough away that both servers get the command before.
                let at = since_1970() + Duration::from_millis(1_500);
                expiry = Some(at);
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
            let [ours, theirs] = [0, 1].map(|side| normalize_all(&sides[side].call(one)));
            assert_eq!(ours, theirs, "WURK_SEED={seed}, step {step}: {one:?}");
        }
        // A key that expires does so on both servers between two steps.
        match expiry.map(|expiry| expiry.checked_sub(since_1970())) {
            None => {}
            Some(Some(wait)) => thread::sleep(wait + Duration::from_millis(2)),
            Some(None) => panic!("WURK_SEED={seed}: the machine was too slow"),
        }
        if step % COMPARE == COMPARE - 1 {
            let [ours, theirs] = [0, 1].map(|side| sides[side].events());
            assert_eq!(ours, theirs, "WURK_SEED={seed}: events up to step {step}");
            let [ours, theirs] = [0, 1].map(|side| digest(&mut sides[side].con));
            assert_eq!(ours, theirs, "WURK_SEED={seed}: data at step {step}");
            // The digest contains only whether a key expires, not when.
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

/// Removes what may differ between the two, also in the reply to `EXEC`: the name in an
/// error, and which nil a call replies with that has waited.
fn normalize_all(reply: &Reply) -> Reply {
    match normalize(reply) {
        Reply::Array(items) => Reply::Array(items.iter().map(normalize_all).collect()),
        Reply::Nil(_) => Reply::Nil("nil"),
        Reply::Error(text) => Reply::Error(text.replace("'wurk.bclaim'", "'wurk.claim'")),
        reply => reply,
    }
}

/// Whether two commands are equal except for times, which may differ by the slack.
pub fn same_command(ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> bool {
    let time = |bytes: &[u8]| -> Option<i64> {
        let text = std::str::from_utf8(bytes).ok()?;
        (text.len() >= 13).then(|| text.parse().ok())?
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(a, b)| {
            a == b
                || time(a)
                    .zip(time(b))
                    .is_some_and(|(a, b)| (a - b).abs() < SLACK)
        })
}

pub fn show(command: &[Vec<u8>]) -> String {
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
