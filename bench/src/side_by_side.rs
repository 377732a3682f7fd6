//! Costs of ways that differ by less than this machine's noise: all of them are
//! measured in every turn, and only within a turn are they compared.

use std::fmt;

use crate::cost::median;

/// The costs of each way, by turn.
pub(crate) struct SideBySide(Vec<Vec<f64>>);

/// The median, and the quartiles around it.
pub(crate) struct Spread {
    low: f64,
    pub(crate) median: f64,
    high: f64,
}

impl SideBySide {
    pub(crate) fn new(ways: usize) -> Self {
        Self(vec![Vec::new(); ways])
    }

    /// Measures each way once.
    pub(crate) fn turn(&mut self, mut cost: impl FnMut(usize) -> f64) {
        let mut order: Vec<_> = (0..self.0.len()).collect();
        // Every other turn backwards: a drift then speaks for each as often as against it,
        // and neighbours stay neighbours.
        if self.0.first().is_some_and(|turns| turns.len() % 2 == 1) {
            order.reverse();
        }
        for way in order {
            self.0[way].push(cost(way));
        }
    }

    pub(crate) fn median(&self, way: usize) -> f64 {
        median(&mut self.0[way].clone())
    }

    /// The cost of `one` over that of `other`.
    pub(crate) fn ratio(&self, one: usize, other: usize) -> Spread {
        self.compare(one, other, |one, other| one / other)
    }

    /// The cost of `one` less that of `other`.
    pub(crate) fn difference(&self, one: usize, other: usize) -> Spread {
        self.compare(one, other, |one, other| one - other)
    }

    fn compare(&self, one: usize, other: usize, by: fn(f64, f64) -> f64) -> Spread {
        let turns = self.0[one].iter().zip(&self.0[other]);
        let mut compared: Vec<_> = turns.map(|(one, other)| by(*one, *other)).collect();
        let median = median(&mut compared);
        let quartile = |quarters| compared[(compared.len() - 1) * quarters / 4];
        Spread {
            low: quartile(1),
            median,
            high: quartile(3),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, median, high } = self;
        write!(f, "{median:.0} ({low:.0} to {high:.0})")
    }
}
