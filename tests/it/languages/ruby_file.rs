//! `examples/wurk.rb`: every call, and the scripts that it contains.

use std::fs;

use wurk_client::scripts;
use wurk_testkit::{Binary, binary::workspace};

use super::workers::all_options;
use crate::support::interpreters::{lines, ruby, run};

/// Prints what every call returns and raises, over the gem and over a connection that
/// has no method but `call`.
const CALLS: &str = r#"
require "redis"
require "./examples/wurk"
redis = Redis.new(url: ARGV[0])
bare = Object.new
bare.define_singleton_method(:call) do |*command|
  redis.call(*command)
rescue Redis::CommandError => e
  raise e.class, e.message.dup.force_encoding("UTF-8") # as some drivers do
end
own = RuntimeError.new("OOM the caller's own")
[bare, redis].each do |conn|
  p Wurk.claim(conn, own, keys: ["q\xff", "q\xff|h|1|f00|0"], info: "{}", beat: 1.5) # its name is in an error
  keys = ["queue:none", "queue:none|h|1|f00|0", "queue:mail", "queue:mail|h|1|f00|0"]
  p Wurk.claim(conn, own, keys: keys, info: "{}", beat: 1.5)
  p Wurk.requeue(conn, own, keys[3], keys[2], "a")
  p Wurk.requeue(conn, own, keys[3], keys[2], "a")
  p Wurk.claim(conn, own, keys: keys.first(2), info: "{}", beat: 2.5)
  p Wurk.claim(conn, own, keys: [], info: "{}", beat: 2.5)
  p Wurk.lock(conn, own, "lock", 60_000), Wurk.lock(conn, own, "lock", 60_000)
  p Wurk.zadd(conn, own, "z", 1.5, "m"), Wurk.zadd(conn, own, "z", 2.5, "m")
  p Wurk.promote(conn, own, "z", "queue:due", "m", "payload"), Wurk.promote(conn, own, "z", "queue:due", "m")
  p redis.call("LPOP", "queue:due")
  p Wurk.beat(conn, own, "h:1:f00", info: "{}", beat: 2.5)
  begin
    Wurk.zadd(conn, own, "queue:mail", 1, "m")
  rescue => e
    p e.message[0, 9]
  end
  redis.call("DEL", "lock", "z")
end
20.times { GC.start; Wurk.lock(redis, own, "lock", 60_000) }
redis.call("ACL", "SETUSER", "default", "-@scripting", "-wurk.zadd") rescue redis.call("ACL", "SETUSER", "default", "-@scripting")
begin
  Wurk.zadd(Redis.new(url: ARGV[0]), own, "z", 1, "m")
rescue => e
  p e.equal?(own), e.message[0, 6]
end
begin
  Wurk.zadd(Redis.new(url: ARGV[0]), nil, "z", 1, "m")
rescue => e
  p e.message[0, 6]
end
"#;

pub fn calls_by_every_strategy(binary: &Binary) {
    let Some(ruby) = ruby() else { return };
    for options in all_options(binary) {
        let server = options.port().start();
        let mut con = server.connect();
        con.must("RPUSH queue:mail a");
        let with_module = !con.say("COMMAND INFO wurk.zadd").items()[0].is_nil();
        con.must("CONFIG SET maxmemory 1");
        let output = run(
            ruby,
            &["-e", CALLS, &format!("redis://127.0.0.1:{}/", server.port)],
        );
        let once = [
            "nil",
            r#"[2, "a"]"#,
            "1",
            "0",
            "nil",
            "nil",
            r#""OK""#,
            "nil",
            "1",
            "0",
            "1",
            "0",
            r#""payload""#,
            r#""OK""#,
            r#""WRONGTYPE""#,
        ];
        // If the ACL denies the command, its error is the result; if it denies scripts,
        // there is no fallback.
        let end: &[&str] = if with_module {
            &["false", r#""NOPERM""#, r#""NOPERM""#]
        } else {
            &["true", r#""OOM th""#, r#""NOPERM""#]
        };
        assert_eq!(lines(&output), [&once[..], &once, end].concat());
        // The strategy is remembered: one unknown command per call, one script that an
        // older server cannot compile, and the ACL line above.
        let errors = con.say("INFO errorstats").to_string();
        let unknown = errors
            .split_once("errorstat_ERR:count=")
            .and_then(|(_, count)| {
                count
                    .split(|c: char| !c.is_ascii_digit())
                    .next()?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        assert!(unknown <= 13, "{errors}");
        assert_eq!(
            con.say("HGETALL h:1:f00").to_string(),
            r#"["info", "{}", "beat", "2.5"]"#
        );
    }
}

/// The file contains the scripts as `tools/embed` writes them.
pub fn contains_the_scripts() {
    let file = fs::read_to_string(workspace().join("examples/wurk.rb")).expect("the file");
    for script in scripts::ALL {
        let lines = script.text.lines().map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("      {line}")
            }
        });
        let embedded = format!(
            "    \"{}\" => <<~'LUA',\n{}\n    LUA\n",
            script.command,
            lines.collect::<Vec<_>>().join("\n")
        );
        assert!(
            file.contains(&embedded),
            "{}: run 'tools/embed'",
            script.command
        );
    }
}
