//! Claims over TLS, on servers that are built with it.

use redis::Client;
use tempfile::TempDir;
use wurk_client::Wurk;
use wurk_testkit::Binary;

use super::connections::{backends, block_on, with_timeout};
use crate::support::caller::{HEARTBEAT, own_error, queues};
use crate::support::tls;

/// With a certificate made for the test.
pub fn blocking_and_asynchronous(binary: &Binary) {
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
    for backend in backends(binary) {
        let files = [&certificate, &key, &certificate].map(String::as_str);
        let Some((server, port)) = tls::start(binary, backend.options(binary), files) else {
            return;
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
            "{backend:?}"
        );
        block_on(async {
            let mut worker = client
                .get_multiplexed_async_connection_with_config(&with_timeout())
                .await
                .expect("a connection");
            let claimed = wurk
                .or_else_oom(own_error())
                .claim_async(&mut worker, &HEARTBEAT, &queues)
                .await;
            assert_eq!(
                claimed.expect("a claim").expect("a job").job,
                b"d",
                "{backend:?}"
            );
        });
    }
}
