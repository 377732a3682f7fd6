//! A client that is blocked in `WURK.BCLAIM` or `BLMOVE`.

use std::thread::{self, JoinHandle};

use wurk_testkit::{Binary, Options, Reply, Resp, Server};

use crate::support::inspect::blocked;
use crate::support::wait::wait_until;

/// A call that waits for 30 seconds.
pub const WAIT: &str = "WURK.BCLAIM ps id q0 p0 q p i 1.5 60 30";

/// The same by `BLMOVE`.
pub const BLMOVE: &str = "BLMOVE q p RIGHT LEFT 30";

/// A client that waits, with its reply or the error of its connection.
pub struct Waiter(JoinHandle<std::io::Result<Reply>>);

impl Waiter {
    /// Sends `line`, and returns when the server has blocked the client.
    pub fn start(server: &Server, con: &mut Resp, line: &str) -> Self {
        Self::start_on(server.connect(), con, line)
    }

    /// The same, on a connection of the caller.
    pub fn start_on(mut own: Resp, con: &mut Resp, line: &str) -> Self {
        let before = blocked(con);
        own.send(&line.split(' ').collect::<Vec<_>>())
            .expect("a server");
        wait_until("the client waits", || blocked(con) == before + 1);
        Self(thread::spawn(move || own.read()))
    }

    /// Waits for its reply.
    pub fn reply(self) -> Reply {
        self.0.join().expect("a reply").expect("a connection")
    }
}

/// Starts a server with the module.
pub fn start(binary: &Binary) -> (Server, Resp) {
    let server = Options::new(binary).module().start();
    let con = server.connect();
    (server, con)
}
