//! `docs/rescue.md` as it is, run on every server that can do it.

pub mod configuration;
pub mod permissions;
pub mod servers;
pub mod steps;
pub mod texts;

const PAGE: &str = include_str!("../../../../docs/rescue.md");

/// The lines of the page that begin so.
fn lines(begin: &str) -> Vec<&'static str> {
    let lines = PAGE.lines();
    lines.filter(|line| line.starts_with(begin)).collect()
}

/// The text below a heading, up to the next one.
fn section(title: &str) -> &'static str {
    let (_, text) = PAGE
        .split_once(&format!("\n## {title}\n"))
        .unwrap_or_else(|| panic!("no section {title}"));
    text.split("\n## ").next().unwrap_or(text)
}

/// What is between backquotes.
fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}
