use wurk_testkit::{Binary, Options, Resp};

use wurk_client::{CLAIM, LOCK, REQUEUE, ZADD};

use crate::door::{Door, digest};

/// The user that README gives to workers.
const WORKER: &str = "ACL SETUSER worker on >secret resetkeys ~queue:* %W~processes %W~host:* %W~retry %W~reaper \
                      -@all +wurk.claim +wurk.bclaim +wurk.requeue +wurk.lock +wurk.zadd +lmove +lrem";

fn start(binary: &Binary) -> (wurk_testkit::Server, Resp, Resp) {
    let server = Options::new(binary).module().start();
    let (mut con, mut worker) = (server.connect(), server.connect());
    con.must(WORKER);
    worker.must("AUTH worker secret");
    con.must("RPUSH queue:a job");
    (server, con, worker)
}

/// The five commands and its keys, and nothing else.
pub fn a_worker_can_do_its_work_and_no_more(binary: &Binary) {
    let (_server, mut con, mut worker) = start(binary);
    let claim = "processes host:1:f00 queue:a queue:a|host|1|f00|0 i 1 60";
    assert_eq!(
        worker.must(&format!("WURK.CLAIM {claim}")).to_string(),
        r#"[(integer) 1, "job"]"#
    );
    worker.must("WURK.REQUEUE queue:a|host|1|f00|0 queue:a job");
    worker.must(&format!("WURK.BCLAIM {claim} 1"));
    worker.must("LREM queue:a|host|1|f00|0 1 job");
    worker.must("WURK.ZADD retry 1 job");
    worker.must("WURK.LOCK reaper 1000");
    let before = digest(&mut con);
    // Each key position with a key out of its pattern.
    let out_of_reach: &[&str] = &[
        "WURK.CLAIM other host:1:f00 queue:a queue:p i 1 60",
        "WURK.CLAIM processes other queue:a queue:p i 1 60",
        "WURK.CLAIM processes host:1:f00 other queue:p i 1 60",
        "WURK.CLAIM processes host:1:f00 queue:a other i 1 60",
        "WURK.CLAIM processes host:1:f00 queue:a queue:p queue:b other i 1 60",
        "WURK.CLAIM processes host:1:f00 queue:a queue:p other queue:q i 1 60",
        "WURK.BCLAIM other host:1:f00 queue:a queue:p i 1 60 1",
        "WURK.BCLAIM processes host:1:f00 queue:a queue:p queue:b other i 1 60 1",
        "WURK.REQUEUE other queue:a job",
        "WURK.REQUEUE queue:a other job",
        "WURK.LOCK other 1000",
        "WURK.ZADD other 1 job",
        // Written, never read: what is in them is nobody's to move about.
        "WURK.CLAIM processes host:1:f00 retry queue:p i 1 60",
        "WURK.REQUEUE retry queue:a job",
    ];
    for line in out_of_reach.iter().chain(&[
        "GET reaper",
        "HGETALL host:1:f00",
        "ZRANGE retry 0 -1",
        "EVAL return(1) 0",
    ]) {
        let reply = worker.say(line);
        assert!(
            reply
                .error()
                .is_some_and(|error| error.starts_with("NOPERM ")),
            "{line}: {reply}"
        );
    }
    assert_eq!(digest(&mut con), before, "nothing has changed");
}

/// The rights that README adds where the module may be missing.
const AND_SCRIPTS: &str = "ACL SETUSER worker ~queue:* ~processes ~host:* ~retry ~reaper +eval +type +time +hset +sadd \
                           +expire +lpos +rpush +set +zadd";

/// The four scripts, as a worker's user may send them.
pub fn a_worker_can_do_it_by_script(binary: &Binary) {
    let server = Options::new(binary).start();
    let (mut con, mut worker) = (server.connect(), server.connect());
    con.must("ACL SETUSER worker on >secret resetkeys -@all +lmove +lrem");
    con.must(AND_SCRIPTS);
    worker.must("AUTH worker secret");
    con.must("RPUSH queue:a job");
    con.must("CONFIG SET maxmemory 1");
    let lists = ["queue:a|host|1|f00|0", "queue:a"];
    let keys = ["processes", "host:1:f00", lists[1], lists[0]];
    let claimed = Door::Script.call(&mut worker, &CLAIM, &keys, &["i", "1", "60"]);
    assert_eq!(claimed.to_string(), r#"[(integer) 1, "job"]"#);
    assert_eq!(
        Door::Script
            .call(&mut worker, &REQUEUE, &lists, &["job"])
            .integer(),
        Some(1)
    );
    assert_eq!(
        Door::Script
            .call(&mut worker, &LOCK, &["reaper"], &["1000"])
            .to_string(),
        "OK"
    );
    assert_eq!(
        Door::Script
            .call(&mut worker, &ZADD, &["retry"], &["1", "job"])
            .integer(),
        Some(1)
    );
    let refused = Door::Script.call(&mut worker, &ZADD, &["other"], &["1", "job"]);
    assert!(
        refused
            .error()
            .is_some_and(|error| error.starts_with("NOPERM ")),
        "{refused}"
    );
}

/// From a script or a function the caller's rights hold as well.
pub fn scripts_lend_no_rights(binary: &Binary) {
    let (_server, mut con, mut worker) = start(binary);
    con.must("ACL SETUSER worker +eval +fcall");
    let library = "#!lua name=try\nredis.register_function('try', function(keys, args) return redis.call(unpack(args)) end)";
    con.call(&["FUNCTION", "LOAD", library]);
    let before = digest(&mut con);
    for call in [["WURK.LOCK", "other", "1000"], ["SET", "reaper", "1"]] {
        let words = call.map(|word| format!("'{word}'")).join(",");
        let reply = worker.call(&["EVAL", &format!("return redis.call({words})"), "0"]);
        assert!(reply.error().is_some(), "{call:?}: {reply}");
        let reply = worker.call(&[&["FCALL", "try", "0"], &call[..]].concat());
        assert!(reply.error().is_some(), "{call:?}: {reply}");
    }
    assert_eq!(digest(&mut con), before, "nothing has changed");
    // What the caller may do, it may do from there.
    let reply = worker.call(&[
        "EVAL",
        "return redis.call('WURK.LOCK', 'reaper', '1000')",
        "0",
    ]);
    assert_eq!(reply.to_string(), "OK");
    let reply = worker.call(&[
        "FCALL",
        "try",
        "0",
        "WURK.CLAIM",
        "processes",
        "host:1:f00",
        "queue:a",
        "queue:p",
        "i",
        "1",
        "60",
    ]);
    assert_eq!(reply.to_string(), r#"[(integer) 1, "job"]"#);
}
