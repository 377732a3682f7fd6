//! Progress bars, and numbers for people.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use redis::{Connection, RedisResult};

/// A bar of `length` steps, hidden if stderr is not a terminal.
pub(crate) fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = if io::stderr().is_terminal() {
        ProgressBar::new(length)
    } else {
        ProgressBar::hidden()
    };
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Formats `41273` as `41,273`.
pub(crate) fn grouped(number: usize) -> String {
    indicatif::HumanCount(number as u64).to_string()
}

/// Formats `1500000` as `1.43 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    indicatif::BinaryBytes(number).to_string()
}

/// Reads a number from `INFO memory`.
pub(crate) fn memory(con: &mut Connection, field: &str) -> RedisResult<u64> {
    let info: String = redis::cmd("INFO").arg("memory").query(con)?;
    let value = info
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0))
}
