//! How the cost of a claim grows.

use wurk_testkit::{Binary, Options};

use crate::cost::{Bench, Workload};
use crate::engine::Engine;
use crate::tables::{measure, table};

/// How the cost of a claim grows with the size of each thing it touches.
pub(crate) fn tables(binary: &Binary, rounds: usize) {
    let mut bench = Bench::start(&Options::new(binary).module());
    let mut row = |title: &str, points: &[(String, Workload, usize)]| {
        let workloads: Vec<_> = points
            .iter()
            .map(|(_, workload, calls)| (workload.clone(), *calls))
            .collect();
        let costs = measure(
            &mut bench,
            &workloads,
            &[Engine::Wurk, Engine::Evalsha],
            rounds,
        );
        let head: Vec<_> = [title]
            .into_iter()
            .chain(points.iter().map(|(name, ..)| name.as_str()))
            .collect();
        let mut table = table(
            &format!(
                "{}: microseconds per claim by {title}, median of {rounds} rounds",
                binary.name
            ),
            &head,
        );
        for (name, costs) in ["WURK.CLAIM", "EVALSHA"].iter().zip(&costs) {
            table.add_row(
                [(*name).to_owned()]
                    .into_iter()
                    .chain(costs.iter().map(|cost| format!("{cost:.1}"))),
            );
        }
        let ratios = costs[0]
            .iter()
            .zip(&costs[1])
            .map(|(ours, script)| format!("{:.2}", script / ours));
        let name = "EVALSHA / WURK.CLAIM".to_owned();
        table.add_row([name].into_iter().chain(ratios));
        println!("{table}");
    };
    let queues = [1, 10, 100, 1_000];
    row(
        "queues",
        &queues.map(|n| {
            (
                n.to_string(),
                Workload::claim(n, 0, 200),
                4_000 / (1 + n / 50),
            )
        }),
    );
    // The costs of these two include one push and one trim per 16 claims.
    let steady = |workload: Workload| Workload {
        steady: true,
        ..workload
    };
    let jobs = [1, 1_000, 1_000_000];
    row(
        "jobs in the queue",
        &jobs.map(|n| (n.to_string(), steady(Workload::claim(1, n, 20)), 4_000)),
    );
    let private = [1, 100, 1_000];
    row(
        "jobs in flight",
        &private.map(|n| {
            (
                n.to_string(),
                steady(Workload {
                    private: n,
                    ..Workload::claim(1, 0, 200)
                }),
                4_000,
            )
        }),
    );
    let sizes = [
        (100, "100 B", 4_000),
        (10 << 10, "10 KiB", 1_600),
        (1 << 20, "1 MiB", 64),
    ];
    row(
        "size of a job",
        &sizes.map(|(size, name, calls)| (name.to_owned(), Workload::claim(1, 0, size), calls)),
    );
}
