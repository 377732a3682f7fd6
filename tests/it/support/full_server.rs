//! A full server, and connections of the `redis` crate to it.

use redis::{Client, Connection};
use wurk_testkit::{Options, Resp, Server};

/// Starts a full server with jobs in `q`, and connects to it twice.
pub fn full_server(options: &Options) -> (Server, Resp, Connection) {
    let server = options.start();
    let mut con = server.connect();
    con.must("RPUSH q a b c d e");
    con.must("CONFIG SET maxmemory 1");
    let client = Client::open(server.url()).expect("an address");
    let worker = client.get_connection().expect("a connection");
    con.must("CONFIG RESETSTAT"); // An older server does not know every command that a client sends as it connects.
    (server, con, worker)
}

/// Connects as a user whose password is `secret`.
pub fn as_user(server: &Server, name: &str) -> Connection {
    let mut con = Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    redis::cmd("AUTH")
        .arg(name)
        .arg("secret")
        .exec(&mut con)
        .expect("a user");
    con
}
