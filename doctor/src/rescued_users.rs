//! Whether the users in `wurk.rescue-users` can be rescued, found without writing.

use std::collections::HashMap;

use redis::{Connection, RedisResult, Value};

use crate::answers::{Answers, Problem};
use crate::permissions::NO_KEY;

/// A user's name, which need not be UTF-8.
type Name = Vec<u8>;

/// Commands by which libraries move a job between lists.
const MOVES: [&[&str]; 4] = [
    &["LMOVE", NO_KEY, NO_KEY, "RIGHT", "LEFT"],
    &["RPOPLPUSH", NO_KEY, NO_KEY],
    &["BLMOVE", NO_KEY, NO_KEY, "RIGHT", "LEFT", "0"],
    &["BRPOPLPUSH", NO_KEY, NO_KEY, "0"],
];

/// Others that libraries send, and a full server refuses.
const OTHERS: [&[&str]; 10] = [
    &["LPUSH", NO_KEY, "x"],
    &["RPUSH", NO_KEY, "x"],
    &["SET", NO_KEY, "x"],
    &["HSET", NO_KEY, "x", "x"],
    &["SADD", NO_KEY, "x"],
    &["ZADD", NO_KEY, "1", "x"],
    &["XADD", NO_KEY, "*", "x", "x"],
    &["EVAL", "", "0"],
    &["EVALSHA", "", "0"],
    &["FCALL", "", "0"],
];

/// The problems of the named users; `None` if this user may not see them.
pub(crate) fn all(
    answers: &mut Answers,
    con: &mut Connection,
) -> RedisResult<Option<Vec<(String, Problem)>>> {
    let names = names(answers, con)?;
    if names.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let Some(users) = answers.ask::<Vec<Name>>(con, "ACL", &["LIST"])? else {
        return Ok(None);
    };
    let clients = answers.ask::<Vec<u8>>(con, "CLIENT", &["LIST"])?;
    let mut found = Vec::new();
    for name in names {
        let Some(mut problems) = problems(answers, con, &users, &name)? else {
            return Ok(None);
        };
        let is_absent = |clients| !is_connected(clients, &name);
        if problems.is_empty() && clients.as_deref().is_some_and(is_absent) {
            problems.push(Problem::Absent);
        }
        let shown = String::from_utf8_lossy(&name);
        found.extend(problems.into_iter().map(|found| (shown.to_string(), found)));
    }
    Ok(Some(found))
}

fn names(answers: &mut Answers, con: &mut Connection) -> RedisResult<Vec<Name>> {
    let setting = ["GET", "wurk.rescue-users"];
    let setting = answers.ask::<HashMap<String, Name>>(con, "CONFIG", &setting)?;
    let names = setting.unwrap_or_default().into_values().next();
    let names = names.unwrap_or_default();
    let names = names.split(u8::is_ascii_whitespace);
    let names = names.filter(|name| !name.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}

fn problems(
    answers: &mut Answers,
    con: &mut Connection,
    users: &[Name],
    name: &[u8],
) -> RedisResult<Option<Vec<Problem>>> {
    // A line is `user <name> on|off ...`.
    let begin = [b"user ", name, b" "].concat();
    let rules = users.iter().find_map(|user| user.strip_prefix(&*begin));
    let Some(rules) = rules else {
        return Ok(Some(vec![Problem::Missing]));
    };
    let mut problems = Vec::new();
    if rules.starts_with(b"off ") {
        problems.push(Problem::Off);
    } else if name == b"default" {
        problems.push(Problem::Default);
    }
    match may_run(answers, con, name, &["WURK.RESCUE", "SET"])? {
        None => return Ok(None),
        Some(false) => problems.push(Problem::Denied),
        Some(true) => {}
    }
    let moves = denied(answers, con, name, &MOVES)?;
    let others = denied(answers, con, name, &OTHERS)?;
    if moves.len() == MOVES.len() && others.len() == OTHERS.len() {
        problems.push(Problem::Powerless);
    } else if !moves.is_empty() {
        problems.push(Problem::Moves(moves));
    }
    Ok(Some(problems))
}

/// Whether a client in the reply to `CLIENT LIST` is logged in as this user, but for
/// this program.
fn is_connected(clients: &[u8], name: &[u8]) -> bool {
    let user = [b" user=", name, b" "].concat();
    let has = |client: &[u8], field: &[u8]| client.windows(field.len()).any(|at| at == field);
    let mut clients = clients.split(|byte| *byte == b'\n');
    clients.any(|client| has(client, &user) && !has(client, b" cmd=client|list "))
}

/// The names of those `calls` that the user may not run.
fn denied(
    answers: &mut Answers,
    con: &mut Connection,
    user: &[u8],
    calls: &[&[&'static str]],
) -> RedisResult<Vec<&'static str>> {
    let mut denied = Vec::new();
    for call in calls {
        if may_run(answers, con, user, call)? == Some(false) {
            denied.extend(call.first());
        }
    }
    Ok(denied)
}

/// Whether the user may run a command, whatever its keys. `None` if that cannot be
/// asked, or the server does not know the command.
fn may_run(
    answers: &mut Answers,
    con: &mut Connection,
    user: &[u8],
    call: &[&str],
) -> RedisResult<Option<bool>> {
    let words = [b"DRYRUN", user].into_iter();
    let words: Vec<_> = words
        .chain(call.iter().map(|word| word.as_bytes()))
        .collect();
    // `OK` is a status; a denial is text with the user's name in it.
    let reply: Option<Value> = answers.ask(con, "ACL", &words)?;
    Ok(reply.map(|reply| match reply {
        Value::BulkString(text) => {
            !String::from_utf8_lossy(&text).contains("no permissions to run")
        }
        _ => true,
    }))
}
