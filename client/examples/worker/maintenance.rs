//! What a process does every second, beside its work.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use redis::{Connection, RedisResult};
use wurk_client::is_oom;

use crate::{PROCESSES, Shared, now};

/// The lock of the one process that reaps.
const REAPER: &[u8] = b"reaper";

const SECOND: Duration = Duration::from_secs(1);

impl Shared {
    /// Every second writes the heartbeat, reaps dead processes and promotes due retries.
    pub(crate) fn maintenance_loop(&self, con: &mut Connection) -> RedisResult<()> {
        let lock = redis::cmd("SET")
            .arg(REAPER)
            .arg(1)
            .arg(&["NX", "PX", "1000"])
            .take();
        while !self.stop.load(Relaxed) {
            self.beat(con)?;
            let locked = self
                .wurk
                .query_or(con, &lock, |wurk, con| wurk.try_lock(con, REAPER, SECOND))?;
            if locked {
                self.reap(con)?;
            }
            // Needs no lock: of several processes one promotes a job.
            self.promote(con)?;
            self.pause(SECOND);
        }
        Ok(())
    }

    /// Writes the heartbeat.
    fn beat(&self, con: &mut Connection) -> RedisResult<()> {
        let identity = self.process.identity();
        let plain = redis::pipe()
            .hset(&identity, "info", &self.info)
            .hset(&identity, "beat", now())
            .expire(&identity, i64::try_from(self.arguments.ttl).unwrap_or(60))
            .sadd(PROCESSES, &identity)
            .exec(con);
        match plain {
            Err(oom) if is_oom(&oom) => {
                let wurk = self.wurk.or_else_oom(oom);
                wurk.beat(con, &self.heartbeat(&identity))
            }
            plain => plain,
        }
    }
}
