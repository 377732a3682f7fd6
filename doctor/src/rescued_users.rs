//! Whether the users in `wurk.rescue-users` can be rescued, found without writing.

use redis::{Connection, RedisResult};

use crate::answers::{Answers, Problem};

/// The named users that have a problem, as far as this user may see that.
pub(crate) fn all(
    answers: &mut Answers,
    con: &mut Connection,
) -> RedisResult<Vec<(String, Problem)>> {
    let names = answers.config("wurk.rescue-users").flatten().unwrap_or("");
    let names: Vec<_> = names.split(' ').map(str::to_owned).collect();
    let mut found = Vec::new();
    if names == [""] {
        return Ok(found);
    }
    let users: Option<Vec<String>> = answers.ask(con, "ACL", &["LIST"])?;
    for name in names {
        // A line is `user <name> on|off ...`.
        let state = users.as_ref().map(|users| {
            let begin = format!("user {name} ");
            users.iter().find_map(|user| user.strip_prefix(&begin))
        });
        let dry_run = ["DRYRUN", &name, "WURK.RESCUE", "SET"];
        let problem = match state {
            _ if name == "default" => Some(Problem::Default),
            Some(None) => Some(Problem::Missing),
            Some(Some(rules)) if rules.starts_with("off ") => Some(Problem::Off),
            _ => {
                let reply: Option<String> = answers.ask(con, "ACL", &dry_run)?;
                reply.filter(|reply| reply != "OK").map(|_| Problem::Denied)
            }
        };
        found.extend(problem.map(|problem| (name, problem)));
    }
    Ok(found)
}
