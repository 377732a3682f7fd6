//! Servers that speak TLS, where they are built with it.

use tempfile::TempDir;
use wurk_testkit::{Binary, Options, Server, server::free_port};

/// Starts it with a port of its own for TLS, and no need for a client's certificate:
/// the server and that port. `None` if it is built without TLS.
pub fn start(
    binary: &Binary,
    options: Options,
    [certificate, key, authority]: [&str; 3],
) -> Option<(Server, u16)> {
    let port = free_port();
    let options = options
        .set("tls-port", &[&port.to_string()])
        .set("tls-cert-file", &[certificate])
        .set("tls-key-file", &[key])
        .set("tls-ca-cert-file", &[authority])
        .set("tls-auth-clients", &["no"]);
    match options.try_start(TempDir::new().expect("a folder")) {
        Ok(server) => Some((server, port)),
        Err(log) => {
            assert!(log.to_lowercase().contains("tls"), "{log}");
            eprintln!("{binary} is built without TLS");
            None
        }
    }
}
