//! Which of the module's commands the user may run, found without writing.

use redis::{Cmd, Connection, RedisResult, Value};

use crate::state::is_lost;

/// A key that does not exist. Nothing is written to it.
pub(crate) const NO_KEY: &str = "wurk-doctor:nobody";

/// Whether the user may run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Allowed,
    Denied,
    /// The server does not know the command.
    Unknown,
}

/// The permission for each of the module's commands.
pub(crate) fn all(con: &mut Connection) -> RedisResult<Vec<(&'static str, Permission)>> {
    calls()
        .into_iter()
        .map(|(name, mut call)| Ok((name, permission(name, &mut call, con)?)))
        .collect()
}

/// Calls that pass the ACL check and then fail for their arguments, before
/// anything is written.
fn calls() -> [(&'static str, Cmd); 7] {
    let call = |name: &'static str, args: &[&str]| (name, redis::cmd(name).arg(args).take());
    let claim = [NO_KEY, NO_KEY, NO_KEY, NO_KEY, "", "", "no ttl"];
    [
        call("WURK.CLAIM", &claim),
        call("WURK.BCLAIM", &[&claim[..], &["0"]].concat()),
        call("WURK.REQUEUE", &[NO_KEY, NO_KEY, ""]),
        call("WURK.LOCK", &[NO_KEY, "no ttl"]),
        call("WURK.ZADD", &[NO_KEY, "no score", ""]),
        call("WURK.PROMOTE", &[NO_KEY, NO_KEY, ""]),
        call("WURK.BEAT", &[NO_KEY, NO_KEY, "", "", "no ttl"]),
    ]
}

fn permission(name: &str, call: &mut Cmd, con: &mut Connection) -> RedisResult<Permission> {
    let error = match call.query::<Value>(con) {
        Ok(_) => return Ok(Permission::Allowed),
        Err(error) if is_lost(&error) => return Err(error),
        Err(error) => error,
    };
    let text = error.detail().unwrap_or("").to_lowercase();
    let name = name.to_lowercase();
    Ok(if text.starts_with("unknown command") {
        Permission::Unknown
    } else if error.code() == Some("NOPERM") && text.contains(&format!("'{name}'")) {
        Permission::Denied
    } else {
        Permission::Allowed
    })
}
