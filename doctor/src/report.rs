//! The findings as a table or as JSON.

use comfy_table::{Table, presets};
use redis::RedisError;
use serde_json::{Value, json};

use crate::findings::{Finding, Level};

/// How many findings are of `level`.
pub(crate) fn count(findings: &[Finding], level: Level) -> usize {
    findings
        .iter()
        .filter(|finding| finding.level == level)
        .count()
}

/// The line below the table.
pub(crate) fn summary(findings: &[Finding]) -> String {
    format!(
        "warnings: {}, skipped: {}",
        count(findings, Level::Warn),
        count(findings, Level::Skipped)
    )
}

pub(crate) fn table(findings: &[Finding]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_BORDERS_ONLY)
        .set_header(["", "found", "means", "do"]);
    for finding in findings {
        let mark = match finding.level {
            Level::Fine => "  ",
            Level::Warn => "! ",
            Level::Skipped => "? ",
        };
        let topic = format!("{mark}{}", finding.topic);
        table.add_row([
            topic.as_str(),
            &finding.found,
            &finding.means,
            &finding.todo,
        ]);
    }
    table
}

pub(crate) fn json(findings: &[Finding]) -> Value {
    let findings: Vec<_> = findings
        .iter()
        .map(|finding| {
            json!({
                "topic": finding.topic,
                "level": match finding.level {
                    Level::Fine => "fine",
                    Level::Warn => "warn",
                    Level::Skipped => "skipped",
                },
                "found": finding.found,
                "means": finding.means,
                "do": finding.todo,
            })
        })
        .collect();
    json!({ "findings": findings })
}

/// The JSON for a server that could not be examined.
pub(crate) fn error(error: &RedisError) -> Value {
    json!({ "error": error.to_string(), "findings": [] })
}
