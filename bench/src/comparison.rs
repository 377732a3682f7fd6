//! A table of commands that are called in several ways, and of how these compare.

use wurk_testkit::Binary;

use crate::filtered::{Call, Filter, Filtered, User};
use crate::side_by_side::SideBySide;
use crate::tables;

/// Calls in one turn, and turns in one round. A round has servers of its own.
const CALLS: usize = 4_000;
const TURNS: usize = 24;

/// A way to call a command.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// The place of its server among those that are started.
    pub(crate) server: usize,
    pub(crate) filter: Filter,
    pub(crate) user: User,
    /// Whether its server is full in the columns of a full server.
    pub(crate) fills: bool,
}

/// A row that compares two ways.
pub(crate) enum Row {
    Ratio(usize, usize),
    /// In nanoseconds.
    Difference(usize, usize),
}

/// A table: a column for each call, a row for each way and each comparison. Ways that
/// are compared should be neighbours.
pub(crate) struct Comparison {
    pub(crate) title: &'static str,
    pub(crate) calls: Vec<Call>,
    pub(crate) ways: Vec<Way>,
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    /// Measures with new servers in each round, and prints the table.
    pub(crate) fn print(&self, binary: &Binary, rounds: usize, start: impl Fn() -> Vec<Filtered>) {
        let costs = self.measure(rounds, start);
        let title = format!(
            "{}, {}: nanoseconds of the server's time per call, median of {} turns of {CALLS} \
             calls; a difference with its quartiles",
            binary.name,
            self.title,
            rounds * TURNS
        );
        let head: Vec<_> = [""]
            .into_iter()
            .chain(self.calls.iter().map(|call| call.name))
            .collect();
        let mut table = tables::table(&title, &head);
        let mut add = |name: String, cell: &dyn Fn(&SideBySide) -> String| {
            table.add_row([name].into_iter().chain(costs.iter().map(cell)));
        };
        for (at, way) in self.ways.iter().enumerate() {
            add(way.name.to_owned(), &|costs| {
                format!("{:.0}", costs.median(at))
            });
        }
        let name = |way: usize| self.ways[way].name;
        for row in &self.rows {
            match *row {
                Row::Ratio(one, other) => {
                    add(format!("{} / {}", name(one), name(other)), &|costs| {
                        format!("{:.2}", costs.ratio(one, other).median)
                    });
                }
                Row::Difference(one, other) => {
                    add(format!("{} - {}", name(one), name(other)), &|costs| {
                        costs.difference(one, other).to_string()
                    });
                }
            }
        }
        println!("{table}");
    }

    /// The costs by call.
    fn measure(&self, rounds: usize, start: impl Fn() -> Vec<Filtered>) -> Vec<SideBySide> {
        let ways = self.ways.len();
        let mut costs: Vec<_> = self.calls.iter().map(|_| SideBySide::new(ways)).collect();
        for _ in 0..rounds {
            let mut servers = start();
            for (call, costs) in self.calls.iter().zip(&mut costs) {
                for _ in 0..TURNS {
                    costs.turn(|at| {
                        let way = &self.ways[at];
                        let server = &mut servers[way.server];
                        server.set_full(call.full && way.fills);
                        server.set_filter(way.filter);
                        server.cost(way.user, call, CALLS)
                    });
                }
            }
        }
        costs
    }
}
