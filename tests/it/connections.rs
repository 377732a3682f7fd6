use std::future::Future;
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManagerConfig};
use redis::{AsyncConnectionConfig, Client, ConnectionLike as _};
use tempfile::TempDir;
use wurk_client::{Claimed, Queue, Wurk};
use wurk_testkit::{Binary, Options, Resp, Server, server::free_port};

use crate::door::{DOORS, Door};
use crate::roads::{HEARTBEAT, calls, own_error, queues};

/// The doors that `binary` has, the script behind a write being one of them.
fn doors(binary: &Binary) -> impl Iterator<Item = Door> {
    let loads = binary.loads_modules();
    DOORS
        .into_iter()
        .filter(move |door| loads || *door == Door::Script)
}

fn full_server(options: Options) -> (Server, Resp) {
    let server = options.port().start();
    let mut con = server.connect();
    con.must("RPUSH q a b c d e");
    con.must("CONFIG SET maxmemory 1");
    (server, con)
}

/// On a loaded machine a reply may take longer than the half second that the
/// crate gives it.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

fn patient() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_response_timeout(PATIENCE)
        .set_connection_timeout(PATIENCE)
}

fn patient_manager() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_response_timeout(PATIENCE)
        .set_connection_timeout(PATIENCE)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(future)
}

/// Every call, over any asynchronous connection.
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

fn took_its_road(door: Door, con: &mut Resp) {
    let (module, scripts) = (calls(con, "wurk.claim"), calls(con, "eval"));
    match door {
        Door::Module => assert_eq!((module, scripts), (2, 0)),
        Door::Script => assert!(module == 0 && scripts >= 8, "{scripts}"),
    }
}

pub fn asynchronous(binary: &Binary) {
    for door in doors(binary) {
        let (server, mut con) = full_server(door.options(binary));
        // Over a port, and over the unix socket.
        for url in [format!("redis://127.0.0.1:{}/", server.port), server.url()] {
            con.must("CONFIG RESETSTAT");
            block_on(async {
                let client = Client::open(url).expect("an address");
                let mut worker = client
                    .get_multiplexed_async_connection_with_config(&patient())
                    .await
                    .expect("a connection");
                every_call(&mut worker).await;
            });
            took_its_road(door, &mut con);
            con.must("DEL l z q:p");
            con.must("CONFIG SET maxmemory 0");
            con.must("RPUSH q d e");
            con.must("CONFIG SET maxmemory 1");
        }
    }
}

pub fn managed(binary: &Binary) {
    for door in doors(binary) {
        let (server, mut con) = full_server(door.options(binary));
        block_on(async {
            let client = Client::open(server.url()).expect("an address");
            let mut worker = client
                .get_connection_manager_with_config(patient_manager())
                .await
                .expect("a connection");
            every_call(&mut worker).await;
        });
        took_its_road(door, &mut con);
        // The same calls while others use the connection.
        con.must("CONFIG SET maxmemory 0");
        con.must("DEL q q:p");
        for job in 0..200 {
            con.must(&format!("LPUSH q {job}"));
        }
        con.must("CONFIG SET maxmemory 1");
        let jobs = block_on(async {
            let client = Client::open(server.url()).expect("an address");
            let worker = client
                .get_connection_manager_with_config(patient_manager())
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
        assert!(numbers.into_iter().eq(0..200), "{door:?}: every job once");
    }
}

/// Over TLS, with a certificate made for the test; on builds that speak it.
pub fn over_tls(binary: &Binary) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let (certificate, key) = (
        file("certificate", made.cert.pem()),
        file("key", made.signing_key.serialize_pem()),
    );
    for door in doors(binary) {
        // Beside the port that is found to be free, so is another.
        let port = free_port();
        let options = door
            .options(binary)
            .set("tls-port", &[&port.to_string()])
            .set("tls-cert-file", &[&certificate])
            .set("tls-key-file", &[&key])
            .set("tls-ca-cert-file", &[&certificate])
            .set("tls-auth-clients", &["no"]);
        let server = match options.try_start(TempDir::new().expect("a folder")) {
            Ok(server) => server,
            Err(log) => {
                assert!(log.to_lowercase().contains("tls"), "{log}");
                eprintln!("{binary} is built without TLS");
                return;
            }
        };
        let mut con = server.connect();
        con.must("RPUSH q a b c d e");
        con.must("CONFIG SET maxmemory 1");
        let client =
            Client::open(format!("rediss://127.0.0.1:{port}/#insecure")).expect("an address");
        let (wurk, queues) = (Wurk::new(), queues());
        let mut worker = client.get_connection().expect("a connection");
        let claimed = wurk
            .or_else_oom(own_error())
            .claim(&mut worker, &HEARTBEAT, &queues);
        assert_eq!(
            claimed.expect("a claim").expect("a job").job,
            b"e",
            "{door:?}"
        );
        block_on(async {
            let mut worker = client
                .get_multiplexed_async_connection_with_config(&patient())
                .await
                .expect("a connection");
            let claimed = wurk
                .or_else_oom(own_error())
                .claim_async(&mut worker, &HEARTBEAT, &queues)
                .await;
            assert_eq!(
                claimed.expect("a claim").expect("a job").job,
                b"d",
                "{door:?}"
            );
        });
    }
}

pub fn pooled(binary: &Binary) {
    for door in doors(binary) {
        let (server, mut con) = full_server(door.options(binary));
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
        assert_eq!(jobs, [b"a", b"b", b"c", b"d", b"e"], "{door:?}: each once");
        if door == Door::Module {
            assert_eq!(calls(&mut con, "wurk.claim"), 5);
        }
    }
}
