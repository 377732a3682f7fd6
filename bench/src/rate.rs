//! Calls per second, and what one costs the server then: at one connection and
//! at fifty, pipelined and not.

use std::thread;
use std::time::Instant;

use wurk_testkit::{Binary, Reply};

use crate::contender::Contender;
use crate::cost::{Bench, Scene, median, pack};
use crate::setting::Setting;
use crate::tables::{QUEUES, best_script, table};

/// Connections, and calls that are sent together on each.
const MODES: [(usize, usize); 4] = [(1, 1), (1, 16), (50, 1), (50, 16)];
/// Claims in one go, where there is one queue.
const CALLS: usize = 4_000;

/// Claims a second, and the server's microseconds for one.
type Measured = (f64, f64);

fn rate(bench: &mut Bench, scene: &Scene, contender: Contender, mode: (usize, usize)) -> Measured {
    let (connections, batch) = mode;
    let calls = CALLS / (1 + scene.keys.len() / 100);
    bench.round(scene, contender, 16); // Sets the scene anew.
    bench.refill(scene, calls);
    let commands = contender.call(scene.script, &scene.keys, &scene.args);
    let wire = pack(&commands, batch);
    let replies = commands.len() * batch;
    let each = calls / connections / batch;
    let cons: Vec<_> = (0..connections).map(|_| bench.server.connect()).collect();
    let before = bench.cpu();
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
    (rate, (bench.cpu() - before) * 1e6 / calls)
}

pub(crate) fn tables(binary: &Binary, rounds: usize) {
    for setting in Setting::ALL {
        let (mut bench, replica) = setting.start(binary);
        for queues in QUEUES {
            let scene = Scene::claim(queues, 0, 200);
            let mut all = vec![vec![Vec::new(); MODES.len()]; Contender::CLAIMS.len()];
            for _ in 0..rounds {
                for (at, mode) in MODES.iter().enumerate() {
                    for (who, contender) in Contender::CLAIMS.iter().enumerate() {
                        all[who][at].push(rate(&mut bench, &scene, *contender, *mode));
                    }
                }
            }
            show(binary, setting, queues, rounds, &all);
        }
        drop(replica);
    }
}

fn show(
    binary: &Binary,
    setting: Setting,
    queues: usize,
    rounds: usize,
    all: &[Vec<Vec<Measured>>],
) {
    let title = format!(
        "{}, {}, {queues} queues: thousand claims a second (the server's microseconds for one), the middle of {rounds} rounds",
        binary.name,
        setting.name()
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
    for (who, contender) in Contender::CLAIMS.iter().enumerate() {
        let cells = rates[who]
            .iter()
            .zip(&costs[who])
            .map(|(rate, cost)| format!("{:.1} ({cost:.1})", rate / 1e3));
        table.add_row([contender.name().to_owned()].into_iter().chain(cells));
    }
    let cost = |who: Contender, at: usize| costs[who.row()][at];
    let ratios = (0..MODES.len()).map(|at| {
        format!(
            "{:.2}",
            best_script(|who| cost(who, at)) / cost(Contender::Wurk, at)
        )
    });
    let name = "best script / WURK.CLAIM, server's time".to_owned();
    table.add_row([name].into_iter().chain(ratios));
    println!("{table}");
}
