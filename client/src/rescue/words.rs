//! Commands as words, and what their names say of them.

use redis::{Arg, Cmd};

/// A command as it was sent, its name first.
pub(crate) type Words = Vec<Vec<u8>>;

/// The most words that a command inside a script may have: Lua's stack holds 8,000.
const MOST_WORDS: usize = 7_000;

/// The name of a command.
pub(crate) fn name(command: &Cmd) -> Option<&[u8]> {
    match command.args_iter().next() {
        Some(Arg::Simple(name)) => Some(name),
        _ => None,
    }
}

/// The words of a command. `None` if it is a scan's, whose cursor is not known yet.
pub(crate) fn words(command: &Cmd) -> Option<Words> {
    let words = command.args_iter().map(|word| match word {
        Arg::Simple(word) => Some(word.to_vec()),
        _ => None,
    });
    words.collect()
}

/// The commands in what is sent on the wire.
pub(crate) fn unpack(mut wire: &[u8]) -> Option<Vec<Words>> {
    let mut commands = Vec::new();
    while !wire.is_empty() {
        let count = number(&mut wire, b'*')?;
        let mut words = Vec::with_capacity(count.min(MOST_WORDS));
        for _ in 0..count {
            let length = number(&mut wire, b'$')?;
            words.push(wire.get(..length)?.to_vec());
            wire = wire.get(length + 2..)?;
        }
        commands.push(words);
    }
    Some(commands)
}

/// Whether WATCH is among the commands on the wire.
pub(crate) fn watches(mut wire: &[u8]) -> bool {
    let mut next = || {
        let count = number(&mut wire, b'*')?;
        let mut name = None;
        for _ in 0..count {
            let length = number(&mut wire, b'$')?;
            name = name.or(wire.get(..length));
            wire = wire.get(length + 2..)?;
        }
        name
    };
    std::iter::from_fn(&mut next).any(is_watch)
}

/// Whether a command of this name is WATCH.
pub(crate) fn is_watch(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"WATCH")
}

/// The number of a line like `*3` or `$7`.
fn number(wire: &mut &[u8], kind: u8) -> Option<usize> {
    let end = wire.iter().position(|byte| *byte == b'\r')?;
    let line = wire.get(..end)?.strip_prefix(&[kind])?;
    let number = std::str::from_utf8(line).ok()?.parse().ok()?;
    *wire = wire.get(end + 2..)?;
    Some(number)
}

/// Whether the command has this name.
pub(crate) fn is(words: &[Vec<u8>], names: &[&str]) -> bool {
    words.first().is_some_and(|name| {
        names
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
    })
}

/// A command that only moves a job, which the brake lets through.
pub(crate) fn only_moves(words: &[Vec<u8>]) -> bool {
    is(words, &["LMOVE", "RPOPLPUSH", "BLMOVE", "BRPOPLPUSH"])
}

/// Whether a script can run this command.
pub(crate) fn runs_in_a_script(words: &[Vec<u8>]) -> bool {
    const NOT: &[&str] = &[
        "EVALSHA",
        "EVALSHA_RO",
        "EVAL_RO",
        "FCALL",
        "FCALL_RO",
        "FUNCTION",
        "SCRIPT",
        "MULTI",
        "EXEC",
        "DISCARD",
        "WATCH",
        "UNWATCH",
        "AUTH",
        "HELLO",
        "RESET",
        "QUIT",
        "SELECT",
        "CLIENT",
        "CONFIG",
        "DEBUG",
        "WAIT",
        "WAITAOF",
        "MONITOR",
        "SYNC",
        "PSYNC",
        "SUBSCRIBE",
        "UNSUBSCRIBE",
        "PSUBSCRIBE",
        "PUNSUBSCRIBE",
        "SSUBSCRIBE",
        "SUNSUBSCRIBE",
        "BLPOP",
        "BRPOP",
        "BLMOVE",
        "BRPOPLPUSH",
        "BLMPOP",
        "BZPOPMIN",
        "BZPOPMAX",
        "BZMPOP",
        "XREAD",
        "XREADGROUP",
        "SAVE",
        "BGSAVE",
        "BGREWRITEAOF",
        "SHUTDOWN",
        "REPLICAOF",
        "FAILOVER",
        "MODULE",
        "ACL",
        "CLUSTER",
        "ASKING",
        "READONLY",
        "READWRITE",
        "MIGRATE",
        "LATENCY",
    ];
    !words.is_empty() && words.len() <= MOST_WORDS && !is(words, NOT)
}

/// The key by which a cluster finds the command's slot.
pub(crate) fn first_key(words: &[Vec<u8>]) -> Option<&[u8]> {
    let counted = |at: usize| {
        let count = std::str::from_utf8(words.get(at)?).ok()?.parse::<usize>();
        (count.ok()? > 0).then_some(at + 1)
    };
    let at = if is(words, &["EVAL", "EVALSHA", "FCALL"]) {
        counted(2)?
    } else if is(
        words,
        &["LMPOP", "ZMPOP", "SINTERCARD", "ZINTER", "ZUNION", "ZDIFF"],
    ) {
        counted(1)?
    } else if is(words, &["XGROUP", "XINFO", "OBJECT", "MEMORY", "BITOP"]) {
        2
    } else {
        1
    };
    words.get(at).map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_read_back() {
        let mut pipeline = redis::pipe();
        pipeline
            .atomic()
            .set("k", b"\r\n$1\r\n*")
            .cmd("INCR")
            .arg("n");
        let commands = unpack(&pipeline.get_packed_pipeline()).expect("commands");
        let names: Vec<_> = commands.iter().map(|words| words[0].as_slice()).collect();
        assert_eq!(names, [b"MULTI".as_slice(), b"SET", b"INCR", b"EXEC"]);
        assert_eq!(commands[1][2], b"\r\n$1\r\n*");
        for broken in ["*1\r\n$9\r\nx\r\n", "*1\r\n", "+OK\r\n", "*x\r\n", "*1"] {
            assert_eq!(unpack(broken.as_bytes()), None, "{broken:?}");
        }
    }
}
