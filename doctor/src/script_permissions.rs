//! Which commands the user may not run inside a script, found without writing.

use redis::{Connection, RedisError, RedisResult};

use crate::permissions::NO_KEY;

/// Runs each of `ARGV`, a command with its arguments in one string, and returns the
/// names of those that the user may not run.
const PROBE: &str = r#"
local denied = {}
for i = 1, #ARGV do
  local call = {}
  for word in ARGV[i]:gmatch('%S+') do call[#call + 1] = word end
  local reply = redis.pcall(unpack(call))
  local text = type(reply) == 'table' and reply.err or ''
  if text:find("can't run this command", 1, true) or text:find('has no permissions to run', 1, true) then
    denied[#denied + 1] = call[1]
  end
end
return denied
"#;

/// What wurk's scripts call: reads, and writes that fail for their arguments.
const HARMLESS: [&[&str]; 10] = [
    &["type", NO_KEY],
    &["time"],
    &["hset", NO_KEY, "an", "odd", "number"],
    &["expire", NO_KEY, "x"],
    &["lmove", NO_KEY, NO_KEY, "x", "x"],
    &["lpos", NO_KEY, "x", "rank", "x"],
    &["lrem", NO_KEY, "x", "x"],
    &["set", NO_KEY, "1", "px", "0"],
    &["zadd", NO_KEY, "x", "x"],
    &["zremrangebyrank", NO_KEY, "x", "x"],
];

/// Writes that no argument makes fail: only for a script that is flagged
/// `no-writes`, which refuses them. Replaces the last of [`HARMLESS`], which only
/// the scripts for servers before 7.0 call.
const REFUSED_BY_FLAG: [&[&str]; 2] = [&["sadd", NO_KEY, "x"], &["rpush", NO_KEY, "x"]];

/// The commands that the user may not run in a script, and whether the server
/// knows script flags, as it does from 7.0 on.
pub(crate) fn denied(con: &mut Connection) -> RedisResult<(Vec<String>, bool)> {
    let always = &HARMLESS[..HARMLESS.len() - 1];
    let flagged = format!("#!lua flags=no-writes{PROBE}");
    let knows_no_flags =
        |error: &RedisError| error.detail().is_some_and(|text| text.contains("near '#'"));
    match run(con, &flagged, &[always, &REFUSED_BY_FLAG].concat()) {
        Err(error) if knows_no_flags(&error) => Ok((run(con, PROBE, &HARMLESS)?, false)),
        denied => Ok((denied?, true)),
    }
}

fn run(con: &mut Connection, script: &str, calls: &[&[&str]]) -> RedisResult<Vec<String>> {
    let calls: Vec<_> = calls.iter().map(|call| call.join(" ")).collect();
    redis::cmd("EVAL").arg(script).arg(0).arg(calls).query(con)
}
