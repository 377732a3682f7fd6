//! What is sent for commands that were refused.

use redis::Cmd;

use super::words::{Words, first_key, is, only_moves, runs_in_a_script};
use crate::scripts::{RESCUE, WRITE_FIRST};
use crate::strategy::Strategy;

/// The first line of a script that was written without one: such a script may access
/// keys of several slots of its node.
const FIRST_LINE: &[u8] = b"#!lua flags=allow-oom,allow-cross-slot-keys\n";

/// Commands that are sent in one script, and how.
pub(crate) struct Request<'a> {
    pub(crate) commands: &'a [Words],
    /// All or none.
    pub(crate) atomic: bool,
    /// Keys that must be as they were.
    pub(crate) watched: &'a [(Vec<u8>, Vec<u8>)],
    /// Of the connection.
    pub(crate) protocol: u8,
    /// Whether a cluster must find the slot.
    pub(crate) in_cluster: bool,
}

impl Request<'_> {
    /// The command that runs them, by a strategy; `None` if that cannot.
    pub(crate) fn command(&self, strategy: Strategy) -> Option<Cmd> {
        if let ([words], false) = (self.commands, self.atomic) {
            if strategy == Strategy::Module {
                return Some(command(["WURK.RESCUE".as_bytes()], words));
            }
            if is(words, &["EVAL"]) {
                return script(words, strategy);
            }
        }
        let others_run = self.commands.iter().all(|words| {
            runs_in_a_script(words) || (only_moves(words) && self.commands.len() == 1)
        });
        if !others_run {
            return None;
        }
        let text = match strategy {
            Strategy::Module => RESCUE.body(),
            Strategy::Script => RESCUE.text,
            Strategy::WriteFirstScript => RESCUE.legacy_text(),
        };
        let keys: Vec<_> = match (self.in_cluster, strategy) {
            (true, _) => self
                .commands
                .iter()
                .filter_map(|words| first_key(words))
                .collect(),
            // That write needs a key.
            (false, Strategy::WriteFirstScript) => {
                vec![self.commands.iter().find_map(|words| first_key(words))?]
            }
            _ => Vec::new(),
        };
        let mut command = Cmd::new();
        if strategy == Strategy::Module {
            command.arg("WURK.RESCUE");
        }
        command.arg("EVAL").arg(text).arg(keys.len()).arg(keys);
        command.arg(if self.atomic { "all" } else { "each" });
        command.arg(self.protocol).arg(self.watched.len());
        for (key, fingerprint) in self.watched {
            command.arg(key).arg(fingerprint);
        }
        for words in self.commands {
            command.arg(words.len()).arg(words);
        }
        Some(command)
    }
}

fn command<'w>(first: impl IntoIterator<Item = &'w [u8]>, words: &[Vec<u8>]) -> Cmd {
    let mut command = Cmd::new();
    for word in first {
        command.arg(word);
    }
    command.arg(words);
    command
}

/// A library's own script, so that a full server runs it.
fn script(words: &[Vec<u8>], strategy: Strategy) -> Option<Cmd> {
    let [_, text, rest @ ..] = words else {
        return None;
    };
    let text = match strategy {
        Strategy::WriteFirstScript => {
            first_key(words)?;
            [WRITE_FIRST.as_bytes(), text].concat()
        }
        _ => allow_oom(text)?,
    };
    Some(command([b"EVAL".as_slice(), &text], rest))
}

/// The text with a first line that has the flag. `None` if it has it already, or is in
/// another language.
fn allow_oom(text: &[u8]) -> Option<Vec<u8>> {
    if !text.starts_with(b"#!") {
        return Some([FIRST_LINE, text].concat());
    }
    let end = text
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(text.len());
    let (line, body) = text.split_at_checked(end)?;
    let line = std::str::from_utf8(line).ok()?;
    if !line.starts_with("#!lua") || line.contains("allow-oom") {
        return None;
    }
    let line = if line.contains("flags=") {
        line.replacen("flags=", "flags=allow-oom,", 1)
    } else {
        format!("{} flags=allow-oom", line.trim_end())
    };
    Some([line.as_bytes(), body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_gets_the_flag() {
        for (text, expected) in [
            (
                "return 1",
                Some("#!lua flags=allow-oom,allow-cross-slot-keys\nreturn 1"),
            ),
            ("#!lua\nreturn 1", Some("#!lua flags=allow-oom\nreturn 1")),
            (
                "#!lua flags=no-cluster\nx",
                Some("#!lua flags=allow-oom,no-cluster\nx"),
            ),
            ("#!lua flags=allow-oom\nx", None),
            ("#!js\nx", None),
        ] {
            let text = allow_oom(text.as_bytes());
            assert_eq!(text.as_deref(), expected.map(str::as_bytes));
        }
    }
}
