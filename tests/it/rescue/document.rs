//! `docs/rescue.md` as it is: its users, its settings.

use wurk_testkit::{Binary, Options, Resp};

use super::side::{Client, WORKER};

const PAGE: &str = include_str!("../../../docs/rescue.md");

/// The lines of the page that begin so.
fn lines(begin: &str) -> Vec<&'static str> {
    PAGE.lines()
        .filter(|line| line.starts_with(begin))
        .collect()
}

fn login(con: &mut Resp, user: &str) {
    con.must(&format!("AUTH {user} secret"));
}

/// With each line for a worker, and the one for a producer: the one is rescued, the
/// other refused.
pub fn names_users_that_can_work(binary: &Binary) {
    let workers = lines("ACL SETUSER worker ");
    let producers = lines("ACL SETUSER producer ");
    assert_eq!((workers.len(), producers.len()), (2, 1));
    let [setting] = lines("CONFIG SET wurk.rescue-users worker")[..] else {
        panic!("one line that names the worker")
    };
    let [loadmodule] = lines("loadmodule ")[..] else {
        panic!("one line that loads the module")
    };
    let arguments: Vec<_> = loadmodule.split(' ').skip(2).collect();
    for (worker, options) in [
        (workers[0], Options::new(binary).module_with(&arguments)),
        (workers[1], Options::new(binary).module()),
    ] {
        let server = options.start();
        let mut con = server.connect();
        if worker == workers[1] {
            con.must(setting);
        }
        con.must(worker);
        con.must(producers[0]);
        con.must("RPUSH queue:mail a b");
        con.must("CONFIG SET wurk.rescue-limit 0");
        con.must("CONFIG SET maxmemory 1");
        let mut client = Client::login(binary, server.connect(), WORKER);
        for (line, reply) in [
            ("LMOVE queue:mail working RIGHT LEFT", r#""b""#),
            ("ZADD retry 1 b", "(integer) 1"),
        ] {
            assert_eq!(client.say(line).to_string(), reply, "{worker}: {line}");
        }
        assert_eq!(
            client.con.say("LREM working 1 b").to_string(),
            "(integer) 1"
        );
        let mut producer = server.connect();
        login(&mut producer, "producer");
        for line in ["LPUSH queue:mail c", "WURK.RESCUE LPUSH queue:mail c"] {
            let reply = producer.say(line).to_string();
            assert!(reply.starts_with("OOM "), "{line}: {reply}");
        }
        let logged = lines("| `wurk.rescue-users: on a full server, ")[0];
        let logged = logged.split('`').nth(1).expect("a log line");
        assert!(server.log().contains(logged), "{logged}");
    }
}
