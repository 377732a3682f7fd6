//! The scripts that stand in for the module's commands.

use std::sync::LazyLock;

/// A command of the module and the script that does the same.
#[derive(Debug)]
pub struct Script {
    /// The module's command.
    pub command: &'static str,
    /// The script, for `EVAL` on Redis 7.0 or later: takes the command's keys as
    /// `KEYS` and its other arguments as `ARGV`, in the same order. What each
    /// is stands in its first lines.
    pub text: &'static str,
    behind_a_write: LazyLock<String>,
}

/// The first line, by which a server runs a script although memory is out.
const ALLOW_OOM: &str = "#!lua flags=allow-oom\n";

/// What stands in its place before 7.0: from a first write on, such a server lets
/// a script go on.
const WRITE: &str = include_str!("../lua/before-7.0/write.lua");

macro_rules! script {
    ($(#[$doc:meta])* $name:ident = $command:literal, $file:literal) => {
        $(#[$doc])*
        pub static $name: Script = Script {
            command: $command,
            text: include_str!($file),
            behind_a_write: LazyLock::new(|| behind_a_write(include_str!($file))),
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

fn behind_a_write(text: &str) -> String {
    let body = text.strip_prefix(ALLOW_OOM).unwrap_or(text);
    format!("{WRITE}{body}")
}

impl Script {
    /// The script for servers before 7.0, which cannot read the first line of
    /// [`text`](Self::text): the same body behind a write that changes nothing.
    pub fn behind_a_write(&self) -> &str {
        &self.behind_a_write
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_can_be_sent_both_ways() {
        for script in [&CLAIM, &REQUEUE, &LOCK, &ZADD] {
            let body = script.text.strip_prefix(ALLOW_OOM);
            let body = body.expect("the very first bytes are the line");
            assert!(!body.contains("#!"), "{}", script.command);
            assert_eq!(script.behind_a_write(), format!("{WRITE}{body}"));
        }
    }
}
