//! Connections that keep a server busy, and the CPU time that it takes.

use wurk_testkit::{Reply, Resp, Server};

/// Calls that are sent together.
pub(crate) const BATCH: usize = 16;

/// Connections, each with a batch in flight. With a single one the server sleeps
/// after every batch, and waking it would be most of what is measured.
pub(crate) const CONNECTIONS: usize = 4;

/// Batches before measuring: what was just changed is not yet in the CPU's caches.
pub(crate) const WARM_UP: usize = 16 * CONNECTIONS;

/// A connection that asks, and those that the calls use.
pub(crate) struct Pipeline {
    con: Resp,
    callers: [Resp; CONNECTIONS],
}

impl Pipeline {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            con: server.connect(),
            callers: std::array::from_fn(|_| server.connect()),
        }
    }

    /// Logs the callers in.
    pub(crate) fn log_in(&mut self, user: &str, password: &str) {
        for caller in &mut self.callers {
            caller.must(&format!("AUTH {user} {password}"));
        }
    }

    /// Sends `batches` batches, `wire` each, with as many replies, of which each has to
    /// be as `is_expected` says. A connection gets its next when the last is answered.
    pub(crate) fn call(
        &mut self,
        wire: &[u8],
        replies: usize,
        batches: usize,
        is_expected: impl Fn(&Reply) -> bool,
    ) {
        for number in 0..batches + CONNECTIONS {
            let con = &mut self.callers[number % CONNECTIONS];
            if number >= CONNECTIONS {
                for _ in 0..replies {
                    let reply = con.read().expect("a reply");
                    assert!(
                        is_expected(&reply),
                        "{reply}, to {}",
                        wire.get(..100).unwrap_or(wire).escape_ascii()
                    );
                }
            }
            if number < batches {
                con.send_raw(wire).expect("a server");
            }
        }
    }

    /// As [`call`](Self::call), and returns the server's CPU time for a batch, in
    /// microseconds.
    pub(crate) fn cost(
        &mut self,
        wire: &[u8],
        replies: usize,
        batches: usize,
        is_expected: impl Fn(&Reply) -> bool,
    ) -> f64 {
        let before = cpu(&mut self.con);
        self.call(wire, replies, batches, is_expected);
        (cpu(&mut self.con) - before) * 1e6 / batches as f64
    }
}

/// Whether a call has succeeded.
pub(crate) fn succeeds(reply: &Reply) -> bool {
    reply.error().is_none()
}

/// The CPU time of the server's main thread, in seconds.
pub(crate) fn cpu(con: &mut Resp) -> f64 {
    let info = con.say("INFO cpu");
    let info = String::from_utf8_lossy(info.bytes().unwrap_or_default()).into_owned();
    let field = |name: &str| -> f64 {
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|value| value.trim().parse().ok())
            .unwrap_or(0.0)
    };
    field("used_cpu_user_main_thread") + field("used_cpu_sys_main_thread")
}

/// The bytes of `commands`, repeated `times` times.
pub(crate) fn pack(commands: &[Vec<Vec<u8>>], times: usize) -> Vec<u8> {
    let one: Vec<u8> = commands
        .iter()
        .flat_map(|command| redis::pack_command(command))
        .collect();
    one.repeat(times)
}
