//! A connection with a namespace: `call` bypasses it and the methods of the gem do not,
//! so a claim would read other queues than the worker. `examples/wurk.rb` refuses it
//! before it sends anything.

use wurk_testkit::{Binary, Options};

use crate::support::interpreters::{has_namespaces, lines, ruby, run};

/// Each call over a connection with a namespace, and over a namespace within another; and
/// a claim with whole names over the underlying connection.
const CALLS: &str = r#"
ENV["REDIS_NAMESPACE_QUIET"] = "1"
require "redis-namespace"
require "./examples/wurk"
redis = Redis.new(url: ARGV[0], reconnect_attempts: 0)
outer = Redis::Namespace.new("app", redis: redis)
keys = ["queue:mail", "queue:mail|h|1|f00|0"]
own = RuntimeError.new("OOM the caller's own")
[outer, Redis::Namespace.new("part", redis: outer)].each do |conn|
  [-> { Wurk.claim(conn, own, keys: keys, info: "{}", beat: 1.5) },
   -> { Wurk.acknowledge_and_claim(conn, nil, [[keys[1], "b"]], keys: keys, info: "{}", beat: 1.5) },
   -> { Wurk.acknowledge_and_claim(conn, own, [[keys[1], "b"]], keys: keys, info: "{}", beat: 1.5) },
   -> { Wurk.lock(conn, own, "lock", 60_000) },
   -> { Wurk.requeue(conn, own, keys[1], keys[0], "a") },
   -> { Wurk.zadd(conn, own, "z", 1, "m") },
   -> { Wurk.promote(conn, own, "z", keys[0], "m") },
   -> { Wurk.beat(conn, own, "h:1:f00", info: "{}", beat: 1.5) }].each do |call|
    call.call
    puts "no error"
  rescue ArgumentError => e
    puts e.message
  end
end
whole = keys.map { |key| "app:#{key}" }
p Wurk.claim(outer.redis, own, keys: whole, info: "{}", beat: 1.5, processes: "app:processes", identity: "h:1:f00")
"#;

pub fn are_refused_by_the_ruby_file(binary: &Binary) {
    let Some(ruby) = ruby().filter(|ruby| has_namespaces(ruby)) else {
        return;
    };
    let server = Options::new(binary).module_if_supported().port().start();
    let mut con = server.connect();
    con.must("RPUSH app:queue:mail a");
    con.must("CONFIG SET maxmemory 1");
    let url = format!("redis://127.0.0.1:{}/", server.port);
    let said = lines(&run(ruby, &["-e", CALLS, &url]));
    let (claimed, refused) = said.split_last().expect("a line for each call");
    assert_eq!(refused.len(), 16, "{said:?}");
    let commands = [
        "WURK.CLAIM",
        "LMOVE",
        "WURK.CLAIM",
        "WURK.LOCK",
        "WURK.REQUEUE",
        "WURK.ZADD",
        "WURK.PROMOTE",
        "WURK.BEAT",
    ];
    for (line, command) in refused.iter().zip(commands.iter().cycle()) {
        assert!(
            line.starts_with(&format!(
                "{command}: Wurk takes no connection with a namespace"
            )),
            "{line}"
        );
    }
    assert_eq!(claimed, r#"[1, "a"]"#);
    let keys = con.say("KEYS *");
    assert_eq!(
        keys.items().len(),
        3,
        "the private list, the processes, the hash: {keys}"
    );
}
