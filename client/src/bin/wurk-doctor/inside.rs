//! What a user may not run inside a script, asked without writing.

use redis::{Connection, RedisError, RedisResult};

/// Takes pairs of a command's name and its arguments, in one string, and returns
/// the names of those that the user may not run.
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

/// What the scripts call; reads, and writes that their arguments end.
const HARMLESS: [&str; 10] = [
    "type wurk-doctor:nobody",
    "time",
    "hset wurk-doctor:nobody an odd number",
    "expire wurk-doctor:nobody x",
    "lmove wurk-doctor:nobody wurk-doctor:nobody x x",
    "lpos wurk-doctor:nobody x rank x",
    "lrem wurk-doctor:nobody x x",
    "set wurk-doctor:nobody 1 px 0",
    "zadd wurk-doctor:nobody x x",
    "zremrangebyrank wurk-doctor:nobody x x",
];

/// Writes that no argument ends; a script that is flagged to write nothing does.
/// The last of the others is needed before 7.0 only.
const WHERE_FLAGGED: [&str; 2] = ["sadd wurk-doctor:nobody x", "rpush wurk-doctor:nobody x"];

/// The commands of the scripts that the user may not run in one, and whether the
/// server knows flags, as from 7.0 on.
pub(crate) fn denied(con: &mut Connection) -> RedisResult<(Vec<String>, bool)> {
    let (_, always) = HARMLESS.split_last().unwrap_or((&"", &[]));
    let flagged = format!("#!lua flags=no-writes{PROBE}");
    let refused = |error: &RedisError| error.detail().is_some_and(|text| text.contains("near '#'"));
    match ask(con, &flagged, &[always, &WHERE_FLAGGED].concat()) {
        Err(error) if refused(&error) => Ok((ask(con, PROBE, &HARMLESS)?, false)),
        denied => Ok((denied?, true)),
    }
}

fn ask(con: &mut Connection, script: &str, calls: &[&str]) -> RedisResult<Vec<String>> {
    redis::cmd("EVAL").arg(script).arg(0).arg(calls).query(con)
}
