//! The questions to the server, none of which writes.

use std::collections::HashMap;
use std::time::Duration;

use redis::{Connection, RedisResult, Value, make_extension_error};

use crate::answers::Answers;
use crate::connect::Server;
use crate::permissions::{self, NO_KEY};
use crate::state::{Writes, code, is_lost, is_state, text};
use crate::{rescued_users, script_permissions};

const CONFIG: [&str; 6] = [
    "enable-module-command",
    "min-replicas-to-write",
    "replica-ignore-maxmemory",
    "wurk.growth-limit",
    "wurk.rescue-limit",
    "wurk.rescue-users",
];

/// Asks everything.
pub(crate) fn all(server: &Server, timeout: Duration) -> RedisResult<Answers> {
    let answers = questions(server, timeout);
    let Err(error) = &answers else {
        return answers;
    };
    if !is_lost(error) || error.is_timeout() || error.is_connection_refusal() {
        return answers;
    }
    // The server closed the connection. Its reason is lost if the client was
    // writing at the same time: connect again and only read.
    match server.rejection(timeout) {
        Some(text) if text.contains("max number of clients") => Ok(Answers {
            writes: Some(Writes::Refused {
                code: "ERR".to_owned(),
                text,
            }),
            failed: ["INFO", "MODULE", "CONFIG", "EVAL", "WURK.CLAIM"]
                .map(|name| (name, "too many clients".to_owned()))
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
    // An ACL may deny PING, and a server's state may refuse it: INFO is served
    // while it loads and after a failed save. Any other error, such as a missing
    // password, would meet every question.
    let ping: RedisResult<Value> = redis::cmd("PING").query(&mut con);
    let refused_ping = match ping {
        Err(error) if is_state(&error) => Some(Writes::refused(&error)),
        Err(error) if error.code() == Some("NOPERM") => None,
        Err(error) => return Err(error),
        Ok(_) => None,
    };
    if server.database != 0 {
        let select: RedisResult<()> = redis::cmd("SELECT").arg(server.database).query(&mut con);
        match select {
            Err(error) if !is_state(&error) => return Err(error),
            _ => {}
        }
    }
    answers.info = answers
        .ask::<String>(&mut con, "INFO", &["default"])?
        .map(|text| fields(&text));
    // Which is no default section.
    if let Some(wurk) = answers.ask::<String>(&mut con, "INFO", &["wurk"])?
        && let Some(info) = &mut answers.info
    {
        info.extend(fields(&wurk));
    }
    answers.user = answers.ask(&mut con, "ACL", &["WHOAMI"])?;
    answers.module = answers
        .ask::<Value>(&mut con, "MODULE", &["LIST"])?
        .map(|list| version(&list));
    answers.config = config(&mut answers, &mut con)?;
    answers.rescued = rescued_users::all(&mut answers, &mut con)?;
    answers.writes = match write(&mut con) {
        Err(error) if error.is_timeout() => {
            // Other writes would be held too, and this connection still has a
            // reply to come.
            answers.writes = Some(Writes::TimedOut);
            for name in ["EVAL", "WURK.CLAIM"] {
                answers.failed.insert(name, "timed out".to_owned());
            }
            return Ok(answers);
        }
        writes => refused_ping.or(writes?),
    };
    answers.permissions = permissions::all(&mut con)?;
    scripts(&mut answers, &mut con)?;
    Ok(answers)
}

/// The parameters of [`CONFIG`] that the server has; `None` if the user may not
/// read one of them.
fn config(
    answers: &mut Answers,
    con: &mut Connection,
) -> RedisResult<Option<HashMap<String, String>>> {
    let mut config = HashMap::new();
    let mut allowed = true;
    for name in CONFIG {
        // A user's name need not be UTF-8.
        match answers.ask::<HashMap<String, Vec<u8>>>(con, "CONFIG", &["GET", name])? {
            Some(found) => config.extend(found.into_iter().map(|(name, value)| {
                let value = String::from_utf8_lossy(&value).into_owned();
                (name, value)
            })),
            None => allowed = false,
        }
    }
    Ok(allowed.then_some(config))
}

/// Tries a write that fails for its arguments and needs no memory. `None` says
/// nothing: the user may not run it, or the key is on another cluster node.
fn write(con: &mut Connection) -> RedisResult<Option<Writes>> {
    let reply: RedisResult<Value> = redis::cmd("LREM").arg(NO_KEY).arg("x").arg("x").query(con);
    match reply {
        Err(error) if is_lost(&error) => Err(error),
        Err(error) if is_state(&error) => Ok(Some(Writes::refused(&error))),
        Err(error) if matches!(error.code(), Some("NOPERM" | "MOVED" | "ASK")) => Ok(None),
        _ => Ok(Some(Writes::Taken)),
    }
}

/// Whether scripts would run, and can be flagged.
fn scripts(answers: &mut Answers, con: &mut Connection) -> RedisResult<()> {
    match script_permissions::denied(con) {
        Ok((denied, flags)) => {
            answers.flags = Some(flags);
            let denied = denied.join(", ");
            answers.scripts =
                (!denied.is_empty()).then(|| format!("this user may not {denied} in one"));
        }
        Err(error) if is_lost(&error) => return Err(error),
        Err(error) if is_state(&error) => {
            answers.failed.insert("EVAL", code(&error));
        }
        Err(error) => answers.scripts = Some(text(&error)),
    }
    Ok(())
}

fn fields(info: &str) -> HashMap<String, String> {
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

/// The module's version in `MODULE LIST`, whose entries are arrays or maps.
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
