//! Claims over pooled connections.

use redis::{Client, ConnectionLike as _};
use wurk_client::Wurk;
use wurk_testkit::Binary;

use super::connections::{backends, full_server};
use crate::support::backend::Backend;
use crate::support::caller::{HEARTBEAT, own_error, queues};
use crate::support::inspect::calls;

pub fn each_job_is_claimed_once(binary: &Binary) {
    for backend in backends(binary) {
        let (server, mut con) = full_server(backend.options(binary));
        let client =
            Client::open(format!("redis://127.0.0.1:{}/", server.port)).expect("an address");
        let pool = r2d2::Pool::builder()
            .max_size(2)
            .build(client)
            .expect("a pool");
        con.must("CONFIG RESETSTAT");
        let (wurk, queues) = (Wurk::new(), queues());
        let jobs: Vec<_> = std::thread::scope(|scope| {
            let work = || {
                let mut con = pool.get().expect("a connection");
                assert!(con.is_open());
                let claimed = wurk
                    .or_else_oom(own_error())
                    .claim(&mut *con, &HEARTBEAT, &queues);
                claimed.expect("a claim").expect("a job").job
            };
            let threads: Vec<_> = (0..5).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a job"))
                .collect()
        });
        let mut jobs = jobs;
        jobs.sort();
        assert_eq!(
            jobs,
            [b"a", b"b", b"c", b"d", b"e"],
            "{backend:?}: each once"
        );
        if backend == Backend::Module {
            assert_eq!(calls(&mut con, "wurk.claim"), 5);
        }
    }
}
