//! Calls per second: at one connection and at fifty, pipelined and not.

use std::thread;
use std::time::Instant;

use wurk_testkit::{Binary, Options};

use crate::contender::Contender;
use crate::cost::{Bench, Scene, median, pack};
use crate::tables;

const CONTENDERS: [Contender; 4] = [
    Contender::Exists,
    Contender::Wurk,
    Contender::Evalsha,
    Contender::Plain,
];
const QUEUES: usize = 10;
const CALLS: usize = 8_000;

fn rate(bench: &mut Bench, contender: Contender, connections: usize, batch: usize) -> f64 {
    let scene = Scene::claim(QUEUES, 0, 200);
    bench.round(&scene, contender, 16); // Sets the scene anew.
    bench.refill(&scene, CALLS);
    let commands = contender.call(scene.script, &scene.keys, &scene.args);
    let wire = pack(&commands, batch);
    let replies = commands.len() * batch;
    let each = CALLS / connections / batch;
    let cons: Vec<_> = (0..connections).map(|_| bench.server.connect()).collect();
    let began = Instant::now();
    thread::scope(|scope| {
        for mut con in cons {
            let wire = &wire;
            scope.spawn(move || {
                for _ in 0..each {
                    con.send_raw(wire).expect("a server");
                    for _ in 0..replies {
                        con.read().expect("a reply");
                    }
                }
            });
        }
    });
    (each * connections * batch) as f64 / began.elapsed().as_secs_f64()
}

pub(crate) fn table(binary: &Binary, rounds: usize) {
    let mut bench = Bench::start(&Options::new(binary).module());
    let settings = [(1, 1), (1, 16), (50, 1), (50, 16)];
    let mut all = vec![vec![Vec::new(); settings.len()]; CONTENDERS.len()];
    for _ in 0..rounds.min(5) {
        for (at, (connections, batch)) in settings.iter().enumerate() {
            for (who, contender) in CONTENDERS.iter().enumerate() {
                all[who][at].push(rate(&mut bench, *contender, *connections, *batch));
            }
        }
    }
    let title = format!(
        "{}: thousand claims a second over {QUEUES} queues",
        binary.name
    );
    let head = [
        "",
        "1 connection",
        "1, 16 a batch",
        "50 connections",
        "50, 16 a batch",
    ];
    let mut table = tables::table(&title, &head);
    for (contender, rates) in CONTENDERS.iter().zip(&mut all) {
        let rates = rates
            .iter_mut()
            .map(|rates| format!("{:.1}", median(rates) / 1e3));
        table.add_row([contender.name().to_owned()].into_iter().chain(rates));
    }
    println!("{table}");
}
