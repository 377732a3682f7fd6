//! Random calls to two servers, one by the module and one by the scripts: replies,
//! data, keyspace events and append-only files are the same.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use wurk_testkit::{Binary, Reply, Resp, Server};

use super::random_steps::{KEYS, Step, any_step, in_multi, pick};
use crate::support::backend::{Backend, normalize, script};
use crate::support::compare::{self, show};
use crate::support::events::Events;
use crate::support::random::seed;

/// Calls to each server, unless `WURK_STEPS` is set.
const STEPS: usize = 20_000;

/// Steps between two comparisons of data and events.
const COMPARE: usize = 50;

/// Steps between two FLUSHALL.
const FLUSH: usize = 2_000;

/// Sizes of the nodes of a list, from one job to all of them.
const LISTPACKS: [&str; 5] = ["-2", "-5", "1", "3", "128"];

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
    let steps = compare::steps(STEPS);
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
            compare::assert_same_data(
                sides.each_mut().map(|side| &mut side.con),
                &KEYS,
                &format!("WURK_SEED={seed}, step {step}"),
            );
        }
    }
    let servers = sides.map(|side| side.server);
    let when = format!("WURK_SEED={seed}");
    for command in compare::assert_same_aof(servers, steps / 4, &when) {
        assert!(
            !command[0].to_ascii_lowercase().starts_with(b"wurk"),
            "{when}: {}",
            show(&command)
        );
    }
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

fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
