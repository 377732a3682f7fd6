//! A claim that waits, by the module and by the script.

use std::thread;
use std::time::{Duration, Instant};

use wurk_client::Wurk;
use wurk_testkit::Binary;

use crate::support::backend::{BACKENDS, Backend};
use crate::support::caller::{HEARTBEAT, own_error, queues};
use crate::support::full_server::full_server;
use crate::support::inspect::calls;

pub fn waits_for_a_job(binary: &Binary) {
    for backend in BACKENDS {
        if backend == Backend::Module && !binary.loads_modules() {
            continue;
        }
        let (server, mut con, mut worker) = full_server(&backend.options(binary));
        let (wurk, queues) = (Wurk::new(), queues());
        let mut claim = |wait: u64| {
            let began = Instant::now();
            let wait = Duration::from_millis(wait);
            let claimed =
                wurk.or_else_oom(own_error())
                    .claim_timeout(&mut worker, &HEARTBEAT, &queues, wait);
            (
                claimed.expect("a claim").map(|claimed| claimed.job),
                began.elapsed(),
            )
        };
        // A job that is there is claimed at once, also with a timeout of zero.
        assert_eq!(
            claim(60_000).0.as_deref(),
            Some(b"e".as_slice()),
            "{backend:?}"
        );
        assert_eq!(claim(0).0.as_deref(), Some(b"d".as_slice()), "{backend:?}");
        con.must("DEL q");
        assert_eq!(claim(0).0, None, "{backend:?}");
        // Without a job it waits for the timeout, longer than one block timeout.
        let (job, took) = claim(600);
        assert!(
            job.is_none() && took >= Duration::from_millis(599),
            "{backend:?}: {took:?}"
        );
        let beat = con.say("HGET id beat").to_string();
        assert!(
            beat.len() > 15 && beat.contains('.'),
            "{backend:?}: {beat} is not a new heartbeat"
        );
        // A job that arrives is claimed.
        let mut pusher = server.connect();
        pusher.must("CONFIG SET maxmemory 0");
        let pushed = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            pusher.must("LPUSH q late");
        });
        assert_eq!(
            claim(60_000).0.as_deref(),
            Some(b"late".as_slice()),
            "{backend:?}"
        );
        pushed.join().expect("a push");
        assert_eq!(
            con.say("LRANGE q:p 0 0").to_string(),
            r#"["late"]"#,
            "{backend:?}"
        );
        assert_eq!(
            calls(&mut con, "wurk.bclaim") > 0,
            backend == Backend::Module,
            "{backend:?}"
        );
        // Without queues it waits and sends nothing.
        con.must("CONFIG RESETSTAT");
        let (began, wait) = (Instant::now(), Duration::from_millis(50));
        assert_eq!(
            wurk.claim_timeout(&mut worker, &HEARTBEAT, &[], wait)
                .expect("no queues"),
            None
        );
        assert!(began.elapsed() >= wait, "{backend:?}");
        assert_eq!(
            calls(&mut con, "eval") + calls(&mut con, "wurk.bclaim"),
            0,
            "{backend:?}"
        );
    }
}
