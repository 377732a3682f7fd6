//! Random commands, sent by a rescued user to a full server and by a plain client
//! to one that is never full: replies, data, keyspace events, append-only files
//! and times to live are the same.

use fastrand::Rng;
use wurk_testkit::{Binary, Options, Reply, Resp, Server};

use super::side::{self, Client, WORKER, add_user, queues_when_full, rescues_scripts};
use super::steps::{self, KEYS, Step};
use crate::support::compare::{self, show};
use crate::support::events::Events;
use crate::support::random::seed;

/// Commands to each server, unless `WURK_STEPS` says otherwise.
const STEPS: usize = 20_000;

/// Steps between two comparisons of data and events.
const LOOK: usize = 50;

/// Steps that a database lives.
const AGE: usize = 1_000;

struct Side {
    server: Server,
    operator: Resp,
    /// In RESP2 and RESP3.
    clients: [Client; 2],
    events: Events,
    rescued: bool,
    full: bool,
    scripts: bool,
    /// Whether a transaction has to be queued while it is not full.
    empties_for_multi: bool,
}

impl Side {
    fn start(binary: &Binary, rescued: bool) -> Self {
        let options = if rescued {
            side::options(binary)
        } else {
            Options::new(binary)
        };
        let server = options
            .set("appendonly", &["yes"])
            .set("notify-keyspace-events", &["AKE"])
            .start();
        let mut operator = server.connect();
        operator.must("DEBUG SET-ACTIVE-EXPIRE 0");
        add_user(&mut operator, WORKER, "~* &* +@all");
        let clients =
            [server.connect(), server.connect3()].map(|con| Client::login(binary, con, WORKER));
        let events = Events::of(&server);
        let mut side = Self {
            server,
            operator,
            clients,
            events,
            rescued,
            full: false,
            scripts: rescues_scripts(binary),
            empties_for_multi: rescued && !queues_when_full(binary),
        };
        side.fill(true);
        side
    }

    fn fill(&mut self, full: bool) {
        self.full = full;
        if self.rescued {
            let maxmemory = usize::from(full);
            self.operator
                .must(&format!("CONFIG SET maxmemory {maxmemory}"));
        }
    }

    fn call(&mut self, client: usize, step: &Step) -> Reply {
        let client = &mut self.clients[client];
        if step.refusable && self.rescued && self.full {
            if step.is_script() && !self.scripts {
                // Only a server that is not full runs it.
                self.operator.must("CONFIG SET maxmemory 0");
                let reply = client.con.call(&step.command);
                self.operator.must("CONFIG SET maxmemory 1");
                return reply;
            }
            client.call(&step.command)
        } else {
            client.con.call(&step.command)
        }
    }

    /// All events since the last comparison.
    fn events(&mut self) -> Vec<String> {
        self.events.since(&mut self.operator)
    }
}

pub fn a_full_server_does_what_another_does(binary: &Binary) {
    let seed = seed();
    let steps = compare::steps(STEPS);
    let mut random = Rng::with_seed(seed);
    let mut sides = [true, false].map(|rescued| Side::start(binary, rescued));
    let mut step = 0;
    let mut rescues = 0;
    while step < steps {
        if step % AGE < LOOK {
            for side in &mut sides {
                // No FUNCTION FLUSH: Redis 8.2.3 can crash by it, with and without us.
                side.operator.must("FLUSHALL");
            }
        }
        for _ in 0..LOOK {
            step += 1;
            let client = random.usize(..2);
            let batch = if random.usize(..15) == 0 {
                in_multi(&mut random)
            } else {
                vec![steps::any(&mut random)]
            };
            let is_multi = batch.len() > 1;
            for side in &mut sides {
                if is_multi && side.empties_for_multi {
                    side.fill(false);
                }
            }
            for one in &batch {
                let [ours, theirs] = [0, 1].map(|side| sides[side].call(client, one));
                assert_eq!(
                    format!("{ours:?}"),
                    format!("{theirs:?}"),
                    "WURK_SEED={seed}, step {step}: {}",
                    show(&one.command)
                );
                let can_be_rescued = sides[0].scripts || !one.is_script();
                rescues += usize::from(one.refusable && can_be_rescued);
            }
            for side in &mut sides {
                if is_multi && side.empties_for_multi {
                    side.fill(true);
                }
            }
        }
        let [ours, theirs] = [0, 1].map(|side| sides[side].events());
        assert_eq!(ours, theirs, "WURK_SEED={seed}: events up to step {step}");
        compare::assert_same_data(
            sides.each_mut().map(|side| &mut side.operator),
            &KEYS,
            &format!("WURK_SEED={seed}, step {step}"),
        );
    }
    let served = sides[0].operator.info("wurk", "wurk_rescues");
    assert!(served > rescues as i64 / 2, "only {served} were rescued");
    let servers = sides.map(|side| side.server);
    compare::assert_same_aof(servers, steps / 4, &format!("WURK_SEED={seed}"));
}

/// Some commands in a transaction, with a watched key now and then.
fn in_multi(random: &mut Rng) -> Vec<Step> {
    let mut steps = Vec::new();
    if random.bool() {
        steps.push(steps::plain(&format!("WATCH {}", KEYS[random.usize(..15)])));
    }
    if random.usize(..4) == 0 {
        steps.push(steps::any(random));
    }
    steps.push(steps::plain("MULTI"));
    for _ in 0..random.usize(1..5) {
        steps.push(steps::any(random));
    }
    steps.push(steps::plain(if random.usize(..8) == 0 {
        "DISCARD"
    } else {
        "EXEC"
    }));
    steps
}
