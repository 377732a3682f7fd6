//! The questions, none of which writes.

use std::collections::HashMap;
use std::time::Duration;

use redis::{Client, Cmd, Connection, RedisError, RedisResult, Value};

use crate::inside;

/// What a user may do with a command, as far as a call shows it that is refused
/// for its arguments before it has written anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    Yes,
    No,
    /// The server does not know the command.
    Unknown,
}

/// The answers. `None`: the user may not ask that.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// `INFO`, all that the user may see of it.
    pub(crate) info: Option<HashMap<String, String>>,
    /// What `CONFIG GET` says.
    pub(crate) config: Option<HashMap<String, String>>,
    /// The module's version, as a number; 0 where it is not loaded.
    pub(crate) module: Option<i64>,
    /// The user.
    pub(crate) user: Option<String>,
    /// The five commands, and `EVAL`.
    pub(crate) rights: Vec<(&'static str, Right)>,
    /// Why a script would not run, where it would not.
    pub(crate) scripts: Option<String>,
    /// Whether scripts can be flagged, as far as running one has shown it.
    pub(crate) flags: Option<bool>,
}

/// A key that nobody has. Nothing is written to it.
const NOBODY: &str = "wurk-doctor:nobody";

const CONFIG: [&str; 3] = [
    "enable-module-command",
    "replica-ignore-maxmemory",
    "wurk.growth-limit",
];

pub(crate) fn all(url: &str, timeout: Duration) -> RedisResult<Answers> {
    let client = Client::open(url)?;
    let mut con = client.get_connection_with_timeout(timeout)?;
    con.set_read_timeout(Some(timeout))?;
    con.set_write_timeout(Some(timeout))?;
    // A user may have no right to that. Whatever else is answered, a password
    // that is missing, a server that is loading or busy, would be to all.
    let ping: RedisResult<Value> = redis::cmd("PING").query(&mut con);
    if let Err(error) = ping
        && error.code() != Some("NOPERM")
    {
        return Err(error);
    }
    let mut answers = Answers {
        info: seen(redis::cmd("INFO").query::<String>(&mut con))?.map(|text| fields(&text)),
        user: seen(redis::cmd("ACL").arg("WHOAMI").query(&mut con))?,
        module: seen(redis::cmd("MODULE").arg("LIST").query::<Value>(&mut con))?
            .map(|list| version(&list)),
        ..Answers::default()
    };
    let mut config = HashMap::new();
    let mut may = true;
    for name in CONFIG {
        match seen(
            redis::cmd("CONFIG")
                .arg("GET")
                .arg(name)
                .query::<HashMap<String, String>>(&mut con),
        )? {
            Some(found) => config.extend(found),
            None => may = false,
        }
    }
    answers.config = may.then_some(config);
    for (name, mut call) in harmless() {
        let right = right(name, &mut call, &mut con)?;
        answers.rights.push((name, right));
    }
    match inside::denied(&mut con) {
        Ok((denied, flags)) => {
            answers.flags = Some(flags);
            let denied = denied.join(", ");
            answers.scripts =
                (!denied.is_empty()).then(|| format!("this user may not {denied} in one"));
        }
        Err(error) if lost(&error) => return Err(error),
        Err(error) => {
            let (code, text) = (error.code().unwrap_or(""), error.detail().unwrap_or(""));
            answers.scripts = Some(format!("{code} {text}"));
        }
    }
    Ok(answers)
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

/// The answer, or nothing where the user may not ask or the server does not know.
fn seen<T>(answer: RedisResult<T>) -> RedisResult<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if lost(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

fn lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_timeout()
}

fn fields(info: &str) -> HashMap<String, String> {
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

/// The version of the module in `MODULE LIST`, whose entries are lists or maps.
fn version(list: &Value) -> i64 {
    let modules: Vec<HashMap<String, Value>> =
        redis::from_redis_value(list.clone()).unwrap_or_default();
    let wurk = modules.into_iter().find(|module| {
        module.get("name").is_some_and(|name| {
            redis::from_redis_value::<String>(name.clone()).is_ok_and(|name| name == "wurk")
        })
    });
    wurk.and_then(|wurk| redis::from_redis_value(wurk.get("ver")?.clone()).ok())
        .unwrap_or(0)
}
