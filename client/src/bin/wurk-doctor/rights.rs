//! What a user may do with the module's commands, asked without writing.

use redis::{Cmd, Connection, RedisResult, Value};

use crate::ask::{NOBODY, lost};

/// What a user may do with a command, as far as a call shows it that is refused
/// for its arguments before it has written anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    Yes,
    No,
    /// The server does not know the command.
    Unknown,
}

/// The right to each command of the module's.
pub(crate) fn all(con: &mut Connection) -> RedisResult<Vec<(&'static str, Right)>> {
    harmless()
        .into_iter()
        .map(|(name, mut call)| Ok((name, right(name, &mut call, con)?)))
        .collect()
}

/// Calls that reach the check of rights, and that their arguments end before
/// anything is written.
fn harmless() -> [(&'static str, Cmd); 5] {
    let call = |name: &'static str, args: &[&str]| (name, redis::cmd(name).arg(args).take());
    let claim = [NOBODY, NOBODY, NOBODY, NOBODY, "", "", "no ttl"];
    [
        call("WURK.CLAIM", &claim),
        call("WURK.BCLAIM", &[&claim[..], &["0"]].concat()),
        call("WURK.REQUEUE", &[NOBODY, NOBODY, ""]),
        call("WURK.LOCK", &[NOBODY, "no ttl"]),
        call("WURK.ZADD", &[NOBODY, "no score", ""]),
    ]
}

fn right(name: &str, call: &mut Cmd, con: &mut Connection) -> RedisResult<Right> {
    let error = match call.query::<Value>(con) {
        Ok(_) => return Ok(Right::Yes),
        Err(error) if lost(&error) => return Err(error),
        Err(error) => error,
    };
    let text = error.detail().unwrap_or("").to_lowercase();
    let name = name.to_lowercase();
    Ok(if text.starts_with("unknown command") {
        Right::Unknown
    } else if error.code() == Some("NOPERM") && text.contains(&format!("'{name}'")) {
        Right::No
    } else {
        Right::Yes
    })
}
