//! The example workers acknowledge a job in one round trip with the next claim, and an
//! acknowledgement that fails costs no job.

use wurk_testkit::Binary;

use super::workers::{all_options, full_server, worker};
use crate::support::inspect::members;
use crate::support::interpreters::{interpreters, lines, ruby, run};
use crate::support::pipeline_proxy::PipelineProxy;

/// Each acknowledgement is sent with a claim, which on a full server is the one that works
/// there. The first, which the server refuses, is sent again with the next.
pub fn are_one_round_trip(binary: &Binary) {
    for (language, interpreter) in interpreters() {
        for options in all_options(binary) {
            for full in [true, false] {
                let (server, mut con, pushed) = full_server(&options);
                if !full {
                    con.must("CONFIG SET maxmemory 0");
                }
                let proxy = PipelineProxy::new(server.port);
                let (example, url) = worker(language, proxy.port);
                let mut done = lines(&run(interpreter, &[&example, &url, "mail", "bulk"]));
                done.sort();
                let mut jobs: Vec<_> = pushed.into_iter().collect();
                jobs.sort();
                assert_eq!(done, jobs, "{language}: each once");
                let left = con.say("KEYS queue:*");
                assert!(left.items().is_empty(), "{language}: {left}");

                let seen = proxy.seen();
                let count = |name| seen.iter().filter(|seen| *seen == name).count();
                assert_eq!(count("LREM"), jobs.len() + 1, "{language}: {seen:?}");
                let behind = seen.windows(2).filter(|pair| pair[0] == "LREM");
                for pair in behind {
                    let expected = ["LREM", "LMOVE", "WURK.CLAIM", "EVAL"];
                    assert!(expected.contains(&pair[1].as_str()), "{language}: {seen:?}");
                }
                if full {
                    // Other claims, which this server refuses, are tried once a second.
                    let most = 2 * (jobs.len() + 1) + jobs.len() / 2;
                    assert!(seen.len() < most, "{language}: {seen:?}");
                }
            }
        }
    }
}

/// A worker that may not acknowledge does each job once, and ends with the server's error.
pub fn no_error_of_an_acknowledgement_hides_a_job(binary: &Binary) {
    for (language, interpreter) in interpreters() {
        for options in all_options(binary) {
            let (server, mut con, pushed) = full_server(&options);
            con.must("ACL SETUSER default -lrem");
            let (example, url) = worker(language, server.port);
            let output = run(interpreter, &[&example, &url, "mail", "bulk"]);
            assert!(!output.status.success(), "{language}");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(error.contains("'lrem' command"), "{language}: {error}");
            let done = String::from_utf8_lossy(&output.stdout);
            assert_eq!(done.lines().count(), pushed.len(), "{language}");
            assert!(done.lines().all(|job| pushed.contains(job)), "{language}");
            let lists = members(&mut con, "KEYS queue:*");
            assert_eq!(lists.len(), 2, "{language}: the private lists");
        }
    }
}

/// Prints what `Wurk.acknowledge_and_claim` returns or raises, and what is left in `done`.
const TURNS: &str = r#"
require "redis"
require "./examples/wurk"
conn = Redis.new(url: ARGV[0], reconnect_attempts: 0)
own = RuntimeError.new("OOM the caller's own")
keys = ["queue:mail", "queue:mail|h|1|f00|0"]
turn = lambda do |error, *done|
  p Wurk.acknowledge_and_claim(conn, error, done, keys: keys, info: "{}", beat: 1.5), done
rescue => e
  p e.equal?(own) ? "own" : e.message[0, 4], done
end
turn.call(own, [keys[1], "done"], ["stray", "text"])
turn.call(nil, ["stray", "text"], [keys[1], "a"])
turn.call(own)
conn.call("CONFIG", "SET", "maxmemory", "0")
turn.call(nil, ["stray", "text"], [keys[1], "b"])
turn.call(nil, [keys[1], "c"], [keys[1], "none"])
turn.call(own, ["stray", "text"])
turn.call(nil)
conn.call("CONFIG", "SET", "maxmemory", "1")
conn.call("ACL", "SETUSER", "default", "-@scripting", "-wurk.claim") rescue conn.call("ACL", "SETUSER", "default", "-@scripting")
turn.call(own, [keys[1], "last"], ["stray", "text"])
"#;

/// The strategy is found with a turn under way, whose acknowledgements are sent once.
pub fn of_the_ruby_file(binary: &Binary) {
    let Some(ruby) = ruby() else { return };
    for options in all_options(binary) {
        let server = options.port().start();
        let mut con = server.connect();
        let with_module = !con.say("COMMAND INFO wurk.claim").items()[0].is_nil();
        con.must("RPUSH queue:mail c b a");
        con.must("RPUSH queue:mail|h|1|f00|0 last done done");
        con.must("SET stray text");
        con.must("CONFIG SET maxmemory 1");
        let url = format!("redis://127.0.0.1:{}/", server.port);
        let stray = r#"[["stray", "text"]]"#;
        let expected = [
            [r#"[1, "a"]"#, stray],
            [r#""OOM ""#, stray],
            [r#"[1, "b"]"#, "[]"],
            [r#"[1, "c"]"#, stray],
            ["nil", "[]"],
            ["nil", stray],
            ["nil", "[]"],
            [if with_module { r#""NOPE""# } else { r#""own""# }, stray],
        ];
        assert_eq!(lines(&run(ruby, &["-e", TURNS, &url])), expected.concat());
        let left = members(&mut con, "LRANGE queue:mail|h|1|f00|0 0 -1");
        assert_eq!(left, [b"done"], "an equal job was not acknowledged");
    }
}
