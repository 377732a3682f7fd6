//! The server's time per call, as tables: the claim by number of queues, and
//! the other commands.

use comfy_table::{CellAlignment, Table, presets};
use wurk_client::scripts::{LOCK, REQUEUE, Script, ZADD};
use wurk_testkit::{Binary, Options};

use crate::contender::Contender;
use crate::cost::{Bench, Scene, median};
use crate::setting::Setting;

/// A contender's cost by number of queues.
pub(crate) type Curve = (Contender, Vec<(usize, f64)>);

pub(crate) const QUEUES: [usize; 3] = [1, 10, 100];

/// The least of what the three ways to send a script cost.
pub(crate) fn best_script(cost_of: impl Fn(Contender) -> f64) -> f64 {
    [Contender::Eval, Contender::Evalsha, Contender::Fcall]
        .map(cost_of)
        .into_iter()
        .fold(f64::INFINITY, f64::min)
}

/// A table whose numbers stand under one another.
pub(crate) fn table(title: &str, head: &[&str]) -> Table {
    println!("\n{title}");
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(head);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Every contender at every scene: the middle of `rounds`, interleaved.
pub(crate) fn measure(
    bench: &mut Bench,
    scenes: &[(Scene, usize)],
    contenders: &[Contender],
    rounds: usize,
) -> Vec<Vec<f64>> {
    let mut all = vec![vec![Vec::new(); scenes.len()]; contenders.len()];
    for _ in 0..rounds {
        for (at, (scene, calls)) in scenes.iter().enumerate() {
            for (who, contender) in contenders.iter().enumerate() {
                all[who][at].push(bench.round(scene, *contender, *calls));
            }
        }
    }
    all.iter_mut()
        .map(|scenes| scenes.iter_mut().map(|rounds| median(rounds)).collect())
        .collect()
}

/// The claim over 1, 10 and 100 queues, of which the last holds the job; alone,
/// with an AOF, and with a replica.
pub(crate) fn by_queues(binary: &Binary, rounds: usize) -> Vec<Curve> {
    let scenes = QUEUES.map(|queues| (Scene::claim(queues, 0, 200), 16_000 / (1 + queues / 25)));
    let mut curves = Vec::new();
    for setting in Setting::ALL {
        let (mut bench, replica) = setting.start(binary);
        let costs = measure(&mut bench, &scenes, &Contender::CLAIMS, rounds);
        drop(replica);
        let title = format!(
            "{}, {}: microseconds of the server's time per claim, the middle of {rounds} rounds",
            binary.name,
            setting.name()
        );
        let mut table = table(&title, &["", "1 queue", "10 queues", "100 queues"]);
        for (contender, costs) in Contender::CLAIMS.iter().zip(&costs) {
            table.add_row(
                [contender.name().to_owned()]
                    .into_iter()
                    .chain(costs.iter().map(|cost| format!("{cost:.2}"))),
            );
        }
        let cost_of = |who: Contender, at: usize| costs[who.row()][at];
        let best_script = |at| best_script(|who| cost_of(who, at));
        let row = |name: &str, ratio: &dyn Fn(usize) -> f64| {
            [name.to_owned()]
                .into_iter()
                .chain((0..QUEUES.len()).map(|at| format!("{:.2}", ratio(at))))
                .collect::<Vec<_>>()
        };
        table.add_row(row("best script / WURK.CLAIM", &|at| {
            best_script(at) / cost_of(Contender::Wurk, at)
        }));
        table.add_row(row("the same above EXISTS", &|at| {
            (best_script(at) - cost_of(Contender::Exists, at))
                / (cost_of(Contender::Wurk, at) - cost_of(Contender::Exists, at)).max(0.01)
        }));
        table.add_row(row("WURK.CLAIM / EXISTS", &|at| {
            cost_of(Contender::Wurk, at) / cost_of(Contender::Exists, at)
        }));
        println!("{table}");
        if setting == Setting::Alone {
            let points =
                |costs: &Vec<f64>| QUEUES.iter().copied().zip(costs.iter().copied()).collect();
            curves = Contender::CLAIMS
                .iter()
                .copied()
                .zip(costs.iter().map(points))
                .collect();
        }
    }
    curves
}

/// `WURK.REQUEUE`, `WURK.LOCK` and `WURK.ZADD` against their scripts.
pub(crate) fn other_commands(binary: &Binary, rounds: usize) {
    let mut bench = Bench::start(&Options::new(binary).module());
    let bytes = |words: &[&str]| {
        words
            .iter()
            .map(|word| word.as_bytes().to_vec())
            .collect::<Vec<_>>()
    };
    let job = "j".repeat(200);
    let scene = |script: &'static Script, keys: &[&str], args: &[&str], fill: Option<&str>| {
        let fill = fill.map(|list| (list.as_bytes().to_vec(), 0, 200));
        (
            Scene {
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
    let scenes = [
        scene(
            &REQUEUE,
            &["queue:mail|mine", "queue:mail"],
            &[&job],
            Some("queue:mail|mine"),
        ),
        scene(&LOCK, &["reaper"], &["30000"], None),
        scene(&ZADD, &["retry"], &["1700000000.5", &job], None),
    ];
    let costs = measure(&mut bench, &scenes, &Contender::CALLS, rounds);
    let title = format!(
        "{}: microseconds of the server's time per call, the middle of {rounds} rounds",
        binary.name
    );
    let mut table = table(&title, &["", "REQUEUE", "LOCK", "ZADD"]);
    for (contender, costs) in Contender::CALLS.iter().zip(&costs) {
        let name = contender.name().replace("WURK.CLAIM", "the module");
        table.add_row(
            [name]
                .into_iter()
                .chain(costs.iter().map(|cost| format!("{cost:.2}"))),
        );
    }
    let cost_of = |who: Contender, at: usize| {
        let mut calls = Contender::CALLS.iter();
        calls
            .position(|contender| *contender == who)
            .map_or(f64::NAN, |row| costs[row][at])
    };
    let ratios = (0..scenes.len()).map(|at| {
        let module = cost_of(Contender::Wurk, at);
        format!("{:.2}", module / best_script(|who| cost_of(who, at)))
    });
    let name = "the module / best script".to_owned();
    table.add_row([name].into_iter().chain(ratios));
    println!("{table}");
}
