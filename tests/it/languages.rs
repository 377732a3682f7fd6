use std::collections::HashSet;
use std::fs;

use wurk_client::scripts::{CLAIM, LOCK, REQUEUE, ZADD};
use wurk_testkit::{Binary, Options, Resp, Server, binary::workspace};

use crate::interpreters::{lines, python, ruby, run};

/// A full server with jobs in two queues, one of which fails.
fn full_server(options: &Options) -> (Server, Resp, HashSet<String>) {
    let server = options.clone().port().start();
    let mut con = server.connect();
    let mut pushed = HashSet::new();
    for number in 0..50 {
        let queue = ["mail", "bulk"][number % 2];
        let job = format!(r#"{{"jid":"{number}","queue":"{queue}"}}"#);
        con.call(&["LPUSH", &format!("queue:{queue}"), &job]);
        pushed.insert(job);
    }
    con.must("CONFIG SET maxmemory 1");
    (server, con, pushed)
}

/// As it is, and where it can be, with the module.
pub fn all_options(binary: &Binary) -> Vec<Options> {
    let plain = Options::new(binary);
    if binary.loads_modules() {
        vec![plain.clone().module(), plain]
    } else {
        vec![plain]
    }
}

/// The example drains a full server; where scripts are forbidden it is told so
/// by the server's own error, and nothing has moved.
fn drains(binary: &Binary, interpreter: &str, example: &str) {
    for options in all_options(binary) {
        let (server, mut con, pushed) = full_server(&options);
        let url = format!("redis://127.0.0.1:{}/", server.port);
        let output = run(interpreter, &[example, &url, "mail", "bulk"]);
        let done = lines(&output);
        assert_eq!(done.len(), pushed.len(), "each once");
        assert_eq!(done.into_iter().collect::<HashSet<_>>(), pushed);
        let keys = con.say("KEYS queue:*");
        assert!(keys.items().is_empty(), "{keys}");
        assert_eq!(con.say("SCARD processes").integer(), Some(1));
    }
    let (server, mut con, pushed) = full_server(&Options::new(binary));
    con.must("ACL SETUSER default -@scripting");
    let output = run(
        interpreter,
        &[
            example,
            &format!("redis://127.0.0.1:{}/", server.port),
            "mail",
            "bulk",
        ],
    );
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("command not allowed when used memory"),
        "{error}"
    );
    let standing = ["queue:mail", "queue:bulk"]
        .map(|queue| con.say(&format!("LLEN {queue}")).integer().unwrap_or(0));
    assert_eq!(standing.iter().sum::<i64>(), pushed.len() as i64);
}

pub fn python_worker_drains(binary: &Binary) {
    if let Some(python) = python() {
        drains(binary, python, "examples/worker.py");
    }
}

pub fn ruby_worker_drains(binary: &Binary) {
    if let Some(ruby) = ruby() {
        drains(binary, ruby, "examples/worker.rb");
        // What fails stands in retry before it is acknowledged.
        let (server, mut con, _) = full_server(&all_options(binary)[0]);
        con.must("CONFIG SET maxmemory 0");
        con.call(&["LPUSH", "queue:mail", r#"{"jid":"x","fails":"fails"}"#]);
        con.must("CONFIG SET maxmemory 1");
        let url = format!("redis://127.0.0.1:{}/", server.port);
        assert_eq!(
            lines(&run(ruby, &["examples/worker.rb", &url, "mail", "bulk"])).len(),
            50
        );
        assert_eq!(con.say("ZRANGE retry 0 -1").items().len(), 1);
    }
}

/// Every call of the file, and what it returns and raises; over the gem, and
/// over a connection of which nothing is known but `call`.
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
  p Wurk.claim(conn, own, keys: ["q\xff", "q\xff|h|1|f00|0"], info: "{}", beat: 1.5) # its name stands in an error
  keys = ["queue:none", "queue:none|h|1|f00|0", "queue:mail", "queue:mail|h|1|f00|0"]
  p Wurk.claim(conn, own, keys: keys, info: "{}", beat: 1.5)
  p Wurk.requeue(conn, own, keys[3], keys[2], "a")
  p Wurk.requeue(conn, own, keys[3], keys[2], "a")
  p Wurk.claim(conn, own, keys: keys.first(2), info: "{}", beat: 2.5)
  p Wurk.claim(conn, own, keys: [], info: "{}", beat: 2.5)
  p Wurk.lock(conn, own, "lock", 60_000), Wurk.lock(conn, own, "lock", 60_000)
  p Wurk.zadd(conn, own, "z", 1.5, "m"), Wurk.zadd(conn, own, "z", 2.5, "m")
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

pub fn ruby_calls_take_every_road(binary: &Binary) {
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
            r#""WRONGTYPE""#,
        ];
        // A command that an administrator has closed is an answer; scripts that
        // are forbidden are no road.
        let end: &[&str] = if with_module {
            &["false", r#""NOPERM""#, r#""NOPERM""#]
        } else {
            &["true", r#""OOM th""#, r#""NOPERM""#]
        };
        assert_eq!(lines(&output), [&once[..], &once, end].concat());
        // A road is remembered: of each command an unknown one, and a script
        // that an older server cannot compile; and the ACL line above.
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
        assert!(unknown <= 9, "{errors}");
        assert_eq!(
            con.say("HGETALL h:1:f00").to_string(),
            r#"["info", "{}", "beat", "2.5"]"#
        );
    }
}

/// What the file says of the scripts is what `tools/embed` makes of them.
pub fn the_ruby_file_holds_the_scripts() {
    let file = fs::read_to_string(workspace().join("examples/wurk.rb")).expect("the file");
    for script in [&CLAIM, &REQUEUE, &LOCK, &ZADD] {
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
