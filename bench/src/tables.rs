//! The server's time per call, as tables: the claim by number of queues, and
//! the other commands.

use comfy_table::{CellAlignment, Table, presets};
use wurk_client::scripts::{LOCK, REQUEUE, Script, ZADD};
use wurk_testkit::{Binary, Options};

use crate::cost::{Bench, Workload, median};
use crate::engine::Engine;
use crate::environment::Environment;

/// An engine's cost by number of queues.
pub(crate) type Curve = (Engine, Vec<(usize, f64)>);

pub(crate) const QUEUES: [usize; 3] = [1, 10, 100];

/// The lowest cost of the three ways to send a script.
pub(crate) fn best_script(cost_of: impl Fn(Engine) -> f64) -> f64 {
    [Engine::Eval, Engine::Evalsha, Engine::Fcall]
        .map(cost_of)
        .into_iter()
        .fold(f64::INFINITY, f64::min)
}

/// Prints the title and returns a table with right-aligned numbers.
pub(crate) fn table(title: &str, head: &[&str]) -> Table {
    println!("\n{title}");
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(head);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Measures every engine with every workload: the median of `rounds`, interleaved.
pub(crate) fn measure(
    bench: &mut Bench,
    workloads: &[(Workload, usize)],
    engines: &[Engine],
    rounds: usize,
) -> Vec<Vec<f64>> {
    let mut all = vec![vec![Vec::new(); workloads.len()]; engines.len()];
    for _ in 0..rounds {
        for (at, (workload, calls)) in workloads.iter().enumerate() {
            for (who, engine) in engines.iter().enumerate() {
                all[who][at].push(bench.round(workload, *engine, *calls));
            }
        }
    }
    all.iter_mut()
        .map(|workloads| workloads.iter_mut().map(|rounds| median(rounds)).collect())
        .collect()
}

/// Measures the claim over 1, 10 and 100 queues with the job in the last one; alone,
/// with an AOF, and with a replica.
pub(crate) fn by_queues(binary: &Binary, rounds: usize) -> Vec<Curve> {
    let workloads =
        QUEUES.map(|queues| (Workload::claim(queues, 0, 200), 16_000 / (1 + queues / 25)));
    let mut curves = Vec::new();
    for environment in Environment::ALL {
        let (mut bench, replica) = environment.start(binary);
        let costs = measure(&mut bench, &workloads, &Engine::CLAIMS, rounds);
        drop(replica);
        let title = format!(
            "{}, {}: microseconds of the server's time per claim, median of {rounds} rounds",
            binary.name,
            environment.name()
        );
        let mut table = table(&title, &["", "1 queue", "10 queues", "100 queues"]);
        for (engine, costs) in Engine::CLAIMS.iter().zip(&costs) {
            table.add_row(
                [engine.name().to_owned()]
                    .into_iter()
                    .chain(costs.iter().map(|cost| format!("{cost:.2}"))),
            );
        }
        let cost_of = |who: Engine, at: usize| costs[who.row()][at];
        let best_script = |at| best_script(|who| cost_of(who, at));
        let row = |name: &str, ratio: &dyn Fn(usize) -> f64| {
            [name.to_owned()]
                .into_iter()
                .chain((0..QUEUES.len()).map(|at| format!("{:.2}", ratio(at))))
                .collect::<Vec<_>>()
        };
        table.add_row(row("best script / WURK.CLAIM", &|at| {
            best_script(at) / cost_of(Engine::Wurk, at)
        }));
        table.add_row(row("the same above EXISTS", &|at| {
            (best_script(at) - cost_of(Engine::Exists, at))
                / (cost_of(Engine::Wurk, at) - cost_of(Engine::Exists, at)).max(0.01)
        }));
        table.add_row(row("WURK.CLAIM / EXISTS", &|at| {
            cost_of(Engine::Wurk, at) / cost_of(Engine::Exists, at)
        }));
        println!("{table}");
        if environment == Environment::Alone {
            let points =
                |costs: &Vec<f64>| QUEUES.iter().copied().zip(costs.iter().copied()).collect();
            curves = Engine::CLAIMS
                .iter()
                .copied()
                .zip(costs.iter().map(points))
                .collect();
        }
    }
    curves
}

/// Measures `WURK.REQUEUE`, `WURK.LOCK` and `WURK.ZADD` against their scripts and
/// the plain commands that they stand for.
pub(crate) fn other_commands(binary: &Binary, rounds: usize) {
    let mut bench = Bench::start(&Options::new(binary).module());
    let bytes = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect::<Vec<_>>()
    };
    let job = "j".repeat(200);
    let workload = |script: &'static Script, keys: &[&str], args: &[&str], fill: Option<&str>| {
        let fill = fill.map(|list| (list.as_bytes().to_vec(), 0, 200));
        (
            Workload {
                script,
                keys: bytes(keys),
                args: bytes(args),
                fill,
                private: 0,
                steady: false,
            },
            4_000,
        )
    };
    let workloads = [
        workload(
            &REQUEUE,
            &["queue:mail|mine", "queue:mail"],
            &[&job],
            Some("queue:mail|mine"),
        ),
        workload(&LOCK, &["reaper"], &["30000"], None),
        workload(&ZADD, &["retry"], &["1700000000.5", &job], None),
    ];
    let costs = measure(&mut bench, &workloads, &Engine::CALLS, rounds);
    let title = format!(
        "{}: microseconds of the server's time per call, median of {rounds} rounds",
        binary.name
    );
    let mut table = table(&title, &["", "REQUEUE", "LOCK", "ZADD"]);
    for (engine, costs) in Engine::CALLS.iter().zip(&costs) {
        let name = engine.name().replace("WURK.CLAIM", "the module");
        table.add_row(
            [name]
                .into_iter()
                .chain(costs.iter().map(|cost| format!("{cost:.2}"))),
        );
    }
    let cost_of = |who: Engine, at: usize| {
        let mut calls = Engine::CALLS.iter();
        calls
            .position(|engine| *engine == who)
            .map_or(f64::NAN, |row| costs[row][at])
    };
    let ratios = (0..workloads.len()).map(|at| {
        let module = cost_of(Engine::Wurk, at);
        format!("{:.2}", module / best_script(|who| cost_of(who, at)))
    });
    let name = "the module / best script".to_owned();
    table.add_row([name].into_iter().chain(ratios));
    let ratios = (0..workloads.len()).map(|at| {
        format!(
            "{:.2}",
            cost_of(Engine::Wurk, at) / cost_of(Engine::Plain, at)
        )
    });
    let name = "the module / plain commands".to_owned();
    table.add_row([name].into_iter().chain(ratios));
    println!("{table}");
}
