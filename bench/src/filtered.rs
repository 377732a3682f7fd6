//! A server that is full, and has a command filter, whenever that is wanted.

use wurk_testkit::{Binary, Options, Reply, Resp, Server, binary};

use crate::pipeline::{BATCH, Pipeline, WARM_UP, pack};

/// Bytes of data beside which the connections' buffers weigh nothing.
const DATA: usize = 32 << 20;

/// The filter that sees each command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    None,
    /// One that does nothing.
    Empty,
    /// The module's: [`User::Worker`] is named.
    Rescue,
}

/// The user who makes the calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Worker,
    Plain,
}

/// A command, whether it meets a full server, and what is replied.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<Vec<u8>>,
    pub(crate) full: bool,
    pub(crate) is_expected: fn(&Reply) -> bool,
}

/// Ways that are compared use one and the same process where they can: two that are
/// alike differ by a percent or two, by where their memory happens to lie.
pub(crate) struct Filtered {
    con: Resp,
    worker: Pipeline,
    plain: Pipeline,
    filter: Filter,
    used: i64,
    _server: Server,
}

impl Filtered {
    /// Starts a server and lets `prepare` put its keys there.
    pub(crate) fn start(binary: &Binary, has_module: bool, prepare: fn(&mut Resp)) -> Self {
        let options = Options::new(binary)
            .set("enable-module-command", &["yes"])
            .set("maxmemory-policy", &["noeviction"]);
        let server = if has_module {
            options.module().start()
        } else {
            options.start()
        };
        let mut con = server.connect();
        con.must(&format!("SETRANGE data {DATA} end"));
        prepare(&mut con);
        let [worker, plain] = ["worker", "plain"].map(|user| {
            con.must(&format!("ACL SETUSER {user} on >secret ~* &* +@all"));
            let mut pipeline = Pipeline::new(&server);
            pipeline.log_in(user, "secret");
            pipeline
        });
        Self {
            used: con.info("memory", "used_memory"),
            con,
            worker,
            plain,
            filter: Filter::None,
            _server: server,
        }
    }

    /// Makes the server full, but less so than the rescue limit, or gives it room.
    pub(crate) fn set_full(&mut self, full: bool) {
        let maxmemory = if full {
            self.used * 100 / 104
        } else {
            self.used * 2
        };
        self.con.must(&format!("CONFIG SET maxmemory {maxmemory}"));
    }

    pub(crate) fn set_filter(&mut self, filter: Filter) {
        if self.filter == filter {
            return;
        }
        match self.filter {
            Filter::None => {}
            Filter::Empty => {
                self.con.must("MODULE UNLOAD empty_filter");
            }
            Filter::Rescue => self.name(""),
        }
        match filter {
            Filter::None => {}
            Filter::Empty => {
                let module = binary::example_module("wurk-bench", "empty_filter");
                self.con.must(&format!("MODULE LOAD {}", module.display()));
            }
            Filter::Rescue => self.name("worker"),
        }
        self.filter = filter;
    }

    fn name(&mut self, users: &str) {
        let set = self
            .con
            .call(&["CONFIG", "SET", "wurk.rescue-users", users]);
        assert!(set.error().is_none(), "{set}");
    }

    /// Makes `calls` calls. Returns the server's CPU time for one, in nanoseconds.
    pub(crate) fn cost(&mut self, user: User, call: &Call, calls: usize) -> f64 {
        let pipeline = match user {
            User::Worker => &mut self.worker,
            User::Plain => &mut self.plain,
        };
        let wire = pack(std::slice::from_ref(&call.command), BATCH);
        pipeline.call(&wire, BATCH, WARM_UP, call.is_expected);
        let cost = pipeline.cost(&wire, BATCH, calls.div_ceil(BATCH), call.is_expected);
        cost * 1e3 / BATCH as f64
    }
}
