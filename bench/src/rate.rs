//! Calls per second, and the server's time for one: at one and at fifty connections,
//! pipelined and not.

use std::thread;
use std::time::Instant;

use wurk_testkit::{Binary, Reply};

use crate::cost::{Bench, Workload, median};
use crate::engine::Engine;
use crate::environment::Environment;
use crate::pipeline::{cpu, pack};
use crate::tables::{QUEUES, best_script, table};

/// Connections, and calls that are sent together on each.
const MODES: [(usize, usize); 4] = [(1, 1), (1, 16), (50, 1), (50, 16)];
/// Claims in one measurement over a single queue; fewer over more queues.
const CALLS: usize = 4_000;

/// Claims per second, and the server's time for one in microseconds.
type Measured = (f64, f64);

fn rate(bench: &mut Bench, workload: &Workload, engine: Engine, mode: (usize, usize)) -> Measured {
    let (connections, batch) = mode;
    let calls = CALLS / (1 + workload.keys.len() / 100);
    bench.round(workload, engine, 16); // Prepares the data.
    bench.refill(workload, calls);
    let commands = engine.call(workload.script, &workload.keys, &workload.args);
    let wire = pack(&commands, batch);
    let replies = commands.len() * batch;
    let each = calls / connections / batch;
    let cons: Vec<_> = (0..connections).map(|_| bench.server.connect()).collect();
    let before = cpu(&mut bench.con);
    let began = Instant::now();
    thread::scope(|scope| {
        for mut con in cons {
            let wire = &wire;
            scope.spawn(move || {
                for _ in 0..each {
                    con.send_raw(wire).expect("a server");
                    for _ in 0..replies {
                        let reply = con.read().expect("a reply");
                        assert!(!matches!(reply, Reply::Error(_)), "{reply}");
                    }
                }
            });
        }
    });
    let calls = (each * connections * batch) as f64;
    let rate = calls / began.elapsed().as_secs_f64();
    (rate, (cpu(&mut bench.con) - before) * 1e6 / calls)
}

pub(crate) fn tables(binary: &Binary, rounds: usize) {
    for environment in Environment::ALL {
        let (mut bench, replica) = environment.start(binary);
        for queues in QUEUES {
            let workload = Workload::claim(queues, 0, 200);
            let mut all = vec![vec![Vec::new(); MODES.len()]; Engine::CLAIMS.len()];
            for _ in 0..rounds {
                for (at, mode) in MODES.iter().enumerate() {
                    for (who, engine) in Engine::CLAIMS.iter().enumerate() {
                        all[who][at].push(rate(&mut bench, &workload, *engine, *mode));
                    }
                }
            }
            print(binary, environment, queues, rounds, &all);
        }
        drop(replica);
    }
}

fn print(
    binary: &Binary,
    environment: Environment,
    queues: usize,
    rounds: usize,
    all: &[Vec<Vec<Measured>>],
) {
    let title = format!(
        "{}, {}, {queues} queues: thousand claims per second (the server's microseconds for one), median of {rounds} rounds",
        binary.name,
        environment.name()
    );
    let head = [
        "",
        "1 connection",
        "1, 16 a batch",
        "50 connections",
        "50, 16 a batch",
    ];
    let middle = |part: fn(&Measured) -> f64| -> Vec<Vec<f64>> {
        let of = |rounds: &Vec<Measured>| median(&mut rounds.iter().map(part).collect::<Vec<_>>());
        all.iter()
            .map(|modes| modes.iter().map(of).collect())
            .collect()
    };
    let (rates, costs) = (middle(|(rate, _)| *rate), middle(|(_, cost)| *cost));
    let mut table = table(&title, &head);
    for (who, engine) in Engine::CLAIMS.iter().enumerate() {
        let cells = rates[who]
            .iter()
            .zip(&costs[who])
            .map(|(rate, cost)| format!("{:.1} ({cost:.1})", rate / 1e3));
        table.add_row([engine.name().to_owned()].into_iter().chain(cells));
    }
    let cost = |who: Engine, at: usize| costs[who.row()][at];
    let ratios = (0..MODES.len()).map(|at| {
        format!(
            "{:.2}",
            best_script(|who| cost(who, at)) / cost(Engine::Wurk, at)
        )
    });
    let name = "best script / WURK.CLAIM, server's time".to_owned();
    table.add_row([name].into_iter().chain(ratios));
    println!("{table}");
}
