//! A full server with a rescued user, and its connections.

use wurk_testkit::{Binary, Options, Reply, Resp, Server};

/// The user of the workers, who is named.
pub const WORKER: &str = "worker";

/// Whether this server tells a filter whose command it is.
pub fn has_filter(binary: &Binary) -> bool {
    binary.version >= (7, 2, 0)
}

/// Whether a script that is called from a module may run out of memory.
pub fn rescues_scripts(binary: &Binary) -> bool {
    binary.version >= (7, 2, 0)
}

/// Whether a full server queues anything in MULTI.
pub fn queues_when_full(binary: &Binary) -> bool {
    binary.version >= (7, 3, 0)
}

/// A server that rescues [`WORKER`] without a limit.
pub fn options(binary: &Binary) -> Options {
    Options::new(binary).module_with(&["rescue-users", WORKER, "rescue-limit", "0"])
}

/// Such a server, started and full, and a connection of its operator.
pub fn full(binary: &Binary) -> (Server, Resp) {
    let server = options(binary).start();
    let mut con = server.connect();
    add_user(&mut con, WORKER, "~* &* +@all");
    add_user(&mut con, "producer", "~* &* +@all");
    con.must("CONFIG SET maxmemory 1");
    (server, con)
}

pub fn add_user(con: &mut Resp, name: &str, permissions: &str) {
    con.must(&format!(
        "ACL SETUSER {name} reset on >secret {permissions}"
    ));
}

/// A client of a server, as a user.
pub struct Client {
    pub con: Resp,
    /// Whether the filter puts `WURK.RESCUE` before its commands.
    filtered: bool,
}

impl Client {
    pub fn login(binary: &Binary, mut con: Resp, user: &str) -> Self {
        con.must(&format!("AUTH {user} secret"));
        Self {
            con,
            filtered: has_filter(binary),
        }
    }

    /// A worker of `server`.
    pub fn worker(binary: &Binary, server: &Server) -> Self {
        Self::login(binary, server.connect(), WORKER)
    }

    /// Sends a command that a full server may refuse: as it is, or as `WURK.RESCUE`
    /// if nobody else puts that before it.
    pub fn call<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Reply {
        self.con.call(&self.command(command))
    }

    pub fn say(&mut self, line: &str) -> Reply {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// The command as it is sent.
    pub fn command<A: AsRef<[u8]>>(&self, command: &[A]) -> Vec<Vec<u8>> {
        let rescue = (!self.filtered).then(|| b"WURK.RESCUE".to_vec());
        let command = command.iter().map(|arg| arg.as_ref().to_vec());
        rescue.into_iter().chain(command).collect()
    }
}
