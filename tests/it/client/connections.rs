//! Every call over asynchronous connections, by a port and a unix socket.

use std::future::Future;
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManagerConfig};
use redis::{AsyncConnectionConfig, Client};
use wurk_client::{Claimed, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server};

use crate::support::backend::{BACKENDS, Backend};
use crate::support::caller::{HEARTBEAT, own_error, queues};
use crate::support::inspect::calls;

/// The backends that `binary` has; before 7.0 the script is the write-first script.
pub fn backends(binary: &Binary) -> impl Iterator<Item = Backend> {
    let loads = binary.loads_modules();
    BACKENDS
        .into_iter()
        .filter(move |backend| loads || *backend == Backend::Script)
}

pub fn full_server(options: Options) -> (Server, Resp) {
    let server = options.port().start();
    let mut con = server.connect();
    con.must("RPUSH q a b c d e");
    con.must("CONFIG SET maxmemory 1");
    (server, con)
}

/// How long a reply may take: on a loaded machine longer than the half second that is the
/// default of the crate.
const TIMEOUT: Option<Duration> = Some(Duration::from_secs(60));

pub fn with_timeout() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_response_timeout(TIMEOUT)
        .set_connection_timeout(TIMEOUT)
}

pub fn manager_with_timeout() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_response_timeout(TIMEOUT)
        .set_connection_timeout(TIMEOUT)
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(future)
}

/// Makes every call over an asynchronous connection.
async fn every_call(con: &mut impl ConnectionLike) {
    let (wurk, queues) = (Wurk::new(), queues());
    for job in [b"e", b"d"] {
        let claimed = wurk
            .or_else_oom(own_error())
            .claim_async(con, &HEARTBEAT, &queues)
            .await;
        let claimed = claimed.expect("a claim").expect("a job");
        assert_eq!(
            (claimed.queue, claimed.job.as_slice()),
            (&queues[0], job.as_slice())
        );
    }
    assert!(
        wurk.acknowledge_async(con, &Claimed::new(&Queue::new("", b"q:p"), b"e"))
            .await
            .expect("an acknowledgement")
    );
    assert!(
        !wurk
            .acknowledge_async(con, &Claimed::new(&Queue::new("", b"q:p"), b"e"))
            .await
            .expect("an acknowledgement")
    );
    assert!(
        wurk.requeue_async(con, &Claimed::new(&Queue::new(b"q", b"q:p"), b"d"))
            .await
            .expect("a requeue")
    );
    assert!(
        !wurk
            .requeue_async(con, &Claimed::new(&Queue::new(b"q", b"q:p"), b"d"))
            .await
            .expect("a requeue")
    );
    let second = Duration::from_secs(60);
    assert!(
        wurk.or_else_oom(own_error())
            .try_lock_async(con, b"l", second)
            .await
            .expect("a lock")
    );
    assert!(
        !wurk
            .or_else_oom(own_error())
            .try_lock_async(con, b"l", second)
            .await
            .expect("a lock")
    );
    assert!(
        wurk.zadd_async(con, b"z", 1.5, b"m")
            .await
            .expect("a member")
    );
    assert!(
        !wurk
            .zadd_async(con, b"z", 2.5, b"m")
            .await
            .expect("a member")
    );
    let wait = Duration::from_millis(100);
    let claimed = wurk
        .or_else_oom(own_error())
        .claim_timeout_async(con, &HEARTBEAT, &queues, wait)
        .await;
    assert_eq!(claimed.expect("a claim").expect("a job").job, b"d");
    let error = wurk
        .or_else_oom(own_error())
        .zadd_async(con, b"q", 1.0, b"m")
        .await
        .expect_err("a list");
    assert_eq!(error.code(), Some("WRONGTYPE"), "{error}");
    assert_eq!(
        wurk.claim_async(con, &HEARTBEAT, &[])
            .await
            .expect("no queues"),
        None
    );
}

fn assert_used(backend: Backend, con: &mut Resp) {
    let (module, scripts) = (calls(con, "wurk.claim"), calls(con, "eval"));
    match backend {
        Backend::Module => assert_eq!((module, scripts), (2, 0)),
        Backend::Script => assert!(module == 0 && scripts >= 8, "{scripts}"),
    }
}

pub fn asynchronous(binary: &Binary) {
    for backend in backends(binary) {
        let (server, mut con) = full_server(backend.options(binary));
        // By the port, and by the unix socket.
        for url in [format!("redis://127.0.0.1:{}/", server.port), server.url()] {
            con.must("CONFIG RESETSTAT");
            block_on(async {
                let client = Client::open(url).expect("an address");
                let mut worker = client
                    .get_multiplexed_async_connection_with_config(&with_timeout())
                    .await
                    .expect("a connection");
                every_call(&mut worker).await;
            });
            assert_used(backend, &mut con);
            con.must("DEL l z q:p");
            con.must("CONFIG SET maxmemory 0");
            con.must("RPUSH q d e");
            con.must("CONFIG SET maxmemory 1");
        }
    }
}

pub fn managed(binary: &Binary) {
    for backend in backends(binary) {
        let (server, mut con) = full_server(backend.options(binary));
        block_on(async {
            let client = Client::open(server.url()).expect("an address");
            let mut worker = client
                .get_connection_manager_with_config(manager_with_timeout())
                .await
                .expect("a connection");
            every_call(&mut worker).await;
        });
        assert_used(backend, &mut con);
        // Three tasks share a connection.
        con.must("CONFIG SET maxmemory 0");
        con.must("DEL q q:p");
        for job in 0..200 {
            con.must(&format!("LPUSH q {job}"));
        }
        con.must("CONFIG SET maxmemory 1");
        let jobs = block_on(async {
            let client = Client::open(server.url()).expect("an address");
            let worker = client
                .get_connection_manager_with_config(manager_with_timeout())
                .await
                .expect("a connection");
            let wurk = Wurk::new();
            let one = async |mut worker: redis::aio::ConnectionManager| {
                let (queues, mut jobs) = (queues(), Vec::new());
                while let Some(claimed) = wurk
                    .claim_async(&mut worker, &HEARTBEAT, &queues)
                    .await
                    .expect("a claim")
                {
                    jobs.push(claimed.job);
                }
                jobs
            };
            let (a, b, c) = tokio::join!(one(worker.clone()), one(worker.clone()), one(worker));
            [a, b, c].concat()
        });
        let mut numbers: Vec<u32> = jobs
            .iter()
            .map(|job| String::from_utf8_lossy(job).parse().expect("a number"))
            .collect();
        numbers.sort_unstable();
        assert!(
            numbers.into_iter().eq(0..200),
            "{backend:?}: every job once"
        );
    }
}
