//! The scripts that are equivalent to the module's commands, for any language.

use std::sync::LazyLock;

/// A command of the module and its equivalent script.
#[derive(Debug)]
#[non_exhaustive]
pub struct Script {
    /// The module's command.
    pub command: &'static str,
    /// The script, for `EVAL` on Redis 7.0 and later: takes the command's keys as
    /// `KEYS` and its other arguments as `ARGV`, in the same order. Its first lines
    /// describe them.
    pub text: &'static str,
    legacy_text: LazyLock<String>,
}

/// What replaces the first line before 7.0: such a server lets a script go on after its first
/// write.
pub(crate) const WRITE_FIRST: &str = include_str!("../lua/before-7.0/write.lua");

macro_rules! script {
    ($(#[$doc:meta])* $name:ident = $command:literal, $file:literal) => {
        $(#[$doc])*
        pub static $name: Script = Script {
            command: $command,
            text: include_str!($file),
            legacy_text: LazyLock::new(|| legacy_text(include_str!($file))),
        };
    };
}

script! {
    /// `WURK.CLAIM processes identity public private [public private ...] info beat ttl`
    CLAIM = "WURK.CLAIM", "../lua/claim.lua"
}
script! {
    /// `WURK.REQUEUE private public job`
    REQUEUE = "WURK.REQUEUE", "../lua/requeue.lua"
}
script! {
    /// `WURK.LOCK key ttl`
    LOCK = "WURK.LOCK", "../lua/lock.lua"
}
script! {
    /// `WURK.ZADD key score member`
    ZADD = "WURK.ZADD", "../lua/zadd.lua"
}

script! {
    /// `WURK.PROMOTE scheduled public job [payload]`
    PROMOTE = "WURK.PROMOTE", "../lua/promote.lua"
}
script! {
    /// `WURK.BEAT processes identity info beat ttl`
    BEAT = "WURK.BEAT", "../lua/beat.lua"
}

script! {
    /// `WURK.RESCUE command [arg ...]`, for any commands, and several: its own first
    /// lines say how they are passed.
    RESCUE = "WURK.RESCUE", "../lua/rescue/commands.lua"
}

/// What `WATCH` would notice of keys, for [`RESCUE`] to compare; it only reads.
pub static WATCHED: &str = include_str!("../lua/rescue/watch.lua");

/// Those that take the command's own keys and arguments.
pub static ALL: [&Script; 6] = [&CLAIM, &REQUEUE, &LOCK, &ZADD, &PROMOTE, &BEAT];

fn legacy_text(text: &str) -> String {
    format!("{WRITE_FIRST}{}", without_first_line(text))
}

fn without_first_line(text: &str) -> &str {
    text.split_once('\n').map_or(text, |(_, body)| body)
}

impl Script {
    /// The script for servers before 7.0, which cannot read the first line of
    /// [`text`](Self::text): the same body after a write that changes nothing.
    pub fn legacy_text(&self) -> &str {
        &self.legacy_text
    }

    /// The script without its first line, as a server runs it that is not full.
    #[must_use]
    pub fn body(&self) -> &'static str {
        without_first_line(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_has_both_texts() {
        for script in ALL.into_iter().chain([&RESCUE]) {
            let (line, body) = script.text.split_once('\n').expect("two lines");
            assert!(line.starts_with("#!lua flags=allow-oom"), "{line}");
            assert!(!body.starts_with("#!"), "{}", script.command);
            assert_eq!(script.legacy_text(), format!("{WRITE_FIRST}{body}"));
        }
    }

    /// Each is a file that any language can send, so the heartbeat stands in two.
    #[test]
    fn a_claim_and_a_beat_write_the_same_heartbeat() {
        let [claim, beat] = [&CLAIM, &BEAT].map(|script| {
            let begin = script.text.find("-- Everything is checked");
            let last = "redis.call('EXPIRE', identity, ttl)\n";
            let end = script.text.find(last).map(|at| at + last.len());
            let heartbeat = begin
                .zip(end)
                .and_then(|(begin, end)| script.text.get(begin..end));
            let heartbeat = heartbeat.expect("the heartbeat");
            heartbeat.replace(&script.command.to_lowercase(), "")
        });
        assert_eq!(claim, beat);
    }
}
