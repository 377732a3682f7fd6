//! The questions, none of which writes.

use std::collections::HashMap;
use std::time::Duration;

use redis::{Connection, FromRedisValue, RedisError, RedisResult, Value, make_extension_error};

use crate::connect::Server;
use crate::inside;
use crate::rights::{self, Right};

/// How the server takes writes, full or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    Taken,
    /// It refuses each of them for the state that it is in.
    Refused {
        code: String,
        text: String,
    },
    /// It answers reads, and no write in time.
    Held,
}

/// What an error says of every call, whoever makes it and whatever for.
const STATES: [&str; 7] = [
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "NOREPLICAS",
    "READONLY",
];

/// The answers. `None`: the user may not ask that, or the server cannot tell now.
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
    /// How writes are taken.
    pub(crate) writes: Option<Writes>,
    /// The five commands; none where the server could not be asked.
    pub(crate) rights: Vec<(&'static str, Right)>,
    /// Why a script would not run, where it would not.
    pub(crate) scripts: Option<String>,
    /// Whether scripts can be flagged, as far as running one has shown it.
    pub(crate) flags: Option<bool>,
    /// The commands that the state of the server kept from being answered, and
    /// that state.
    pub(crate) not_now: HashMap<&'static str, String>,
}

/// A key that nobody has. Nothing is written to it.
pub(crate) const NOBODY: &str = "wurk-doctor:nobody";

const CONFIG: [&str; 4] = [
    "enable-module-command",
    "min-replicas-to-write",
    "replica-ignore-maxmemory",
    "wurk.growth-limit",
];

pub(crate) fn all(server: &Server, timeout: Duration) -> RedisResult<Answers> {
    let answers = questions(server, timeout);
    let Err(error) = &answers else {
        return answers;
    };
    if !lost(error) || error.is_timeout() || error.is_connection_refusal() {
        return answers;
    }
    // The connection was closed. What was written to it before is lost where
    // something was asked at the same time.
    match server.turned_away(timeout) {
        Some(text) if text.contains("max number of clients") => Ok(Answers {
            writes: Some(Writes::Refused {
                code: "ERR".to_owned(),
                text,
            }),
            not_now: ["INFO", "MODULE", "CONFIG", "EVAL", "WURK.CLAIM"]
                .map(|name| (name, "so too".to_owned()))
                .into(),
            ..Answers::default()
        }),
        Some(text) => {
            let (code, text) = text.split_once(' ').unwrap_or((&text, ""));
            Err(make_extension_error(code.to_owned(), Some(text.to_owned())))
        }
        None => answers,
    }
}

fn questions(server: &Server, timeout: Duration) -> RedisResult<Answers> {
    let mut answers = Answers::default();
    let mut con = server.connect(timeout)?;
    // A user may have no right to that. Whatever else is answered, a password
    // that is missing, would be to all. A state that the server is in is not:
    // INFO is served while it loads, and after a save that failed.
    let ping: RedisResult<Value> = redis::cmd("PING").query(&mut con);
    let ping = match ping {
        Err(error) if state(&error).is_some() => refused(&error),
        Err(error) if error.code() == Some("NOPERM") => None,
        Err(error) => return Err(error),
        Ok(_) => None,
    };
    if server.database != 0 {
        let choice: RedisResult<()> = redis::cmd("SELECT").arg(server.database).query(&mut con);
        match choice {
            Err(error) if state(&error).is_none() => return Err(error),
            _ => {}
        }
    }
    answers.info = answers
        .ask::<String>(&mut con, "INFO", &[])?
        .map(|text| fields(&text));
    answers.user = answers.ask(&mut con, "ACL", &["WHOAMI"])?;
    answers.module = answers
        .ask::<Value>(&mut con, "MODULE", &["LIST"])?
        .map(|list| version(&list));
    let mut config = HashMap::new();
    let mut may = true;
    for name in CONFIG {
        match answers.ask::<HashMap<String, String>>(&mut con, "CONFIG", &["GET", name])? {
            Some(found) => config.extend(found),
            None => may = false,
        }
    }
    answers.config = may.then_some(config);
    answers.writes = match write(&mut con) {
        Err(error) if error.is_timeout() => {
            // Whatever else may write would be held as well, and this connection
            // has a reply to come.
            answers.writes = Some(Writes::Held);
            for name in ["EVAL", "WURK.CLAIM"] {
                answers.not_now.insert(name, "nothing in time".to_owned());
            }
            return Ok(answers);
        }
        writes => ping.or(writes?),
    };
    answers.rights = rights::all(&mut con)?;
    match inside::denied(&mut con) {
        Ok((denied, flags)) => {
            answers.flags = Some(flags);
            let denied = denied.join(", ");
            answers.scripts =
                (!denied.is_empty()).then(|| format!("this user may not {denied} in one"));
        }
        Err(error) if lost(&error) => return Err(error),
        Err(error) if state(&error).is_some() => {
            answers.not_now.insert("EVAL", code(&error));
        }
        Err(error) => answers.scripts = Some(text(&error)),
    }
    Ok(answers)
}

impl Answers {
    /// The answer, or nothing where the user may not ask, the server does not
    /// know, or is in a state that keeps it from answering.
    fn ask<T: FromRedisValue>(
        &mut self,
        con: &mut Connection,
        name: &'static str,
        args: &[&str],
    ) -> RedisResult<Option<T>> {
        match redis::cmd(name).arg(args).query(con) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if lost(&error) => Err(error),
            Err(error) => {
                if state(&error).is_some() {
                    self.not_now.insert(name, code(&error));
                }
                Ok(None)
            }
        }
    }
}

/// How a write is answered that its arguments end, and that no memory is asked
/// for. The node of a cluster sends most keys elsewhere, which says nothing.
fn write(con: &mut Connection) -> RedisResult<Option<Writes>> {
    let call: RedisResult<Value> = redis::cmd("LREM").arg(NOBODY).arg("x").arg("x").query(con);
    match call {
        Err(error) if lost(&error) => Err(error),
        Err(error) if state(&error).is_some() => Ok(refused(&error)),
        Err(error) if matches!(error.code(), Some("NOPERM" | "MOVED" | "ASK")) => Ok(None),
        _ => Ok(Some(Writes::Taken)),
    }
}

fn state(error: &RedisError) -> Option<&str> {
    error.code().filter(|code| STATES.contains(code))
}

fn refused(error: &RedisError) -> Option<Writes> {
    Some(Writes::Refused {
        code: code(error),
        text: text(error),
    })
}

fn code(error: &RedisError) -> String {
    error.code().unwrap_or("").to_owned()
}

fn text(error: &RedisError) -> String {
    format!("{} {}", code(error), error.detail().unwrap_or(""))
}

/// Whether the connection is of no more use.
pub(crate) fn lost(error: &RedisError) -> bool {
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
