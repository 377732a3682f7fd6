//! A connection that rescues its own commands, on stock servers and beside the module.

pub mod cluster;
pub mod differential;
mod random;
pub mod refusals;
pub mod transactions;
pub mod waits;

use redis::Connection;
use wurk_client::Rescue;
use wurk_testkit::Server;

/// Connects, blocking; `protocol` is 2 or 3.
fn connect(server: &Server, protocol: u8) -> Connection {
    let url = format!("{}?protocol=resp{protocol}", server.url());
    let client = redis::Client::open(url).expect("an address");
    client.get_connection().expect("a connection")
}

/// Connects so that commands are rescued, however far past maxmemory the server is: it is
/// made full by the smallest of limits.
fn rescuing(server: &Server, protocol: u8) -> Rescue<Connection> {
    wurk_client::Rescuer::with_limit(0).wrap(connect(server, protocol))
}
