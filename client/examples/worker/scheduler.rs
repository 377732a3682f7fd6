//! Promotes the jobs whose retry is due.

use std::sync::atomic::Ordering::Relaxed;

use redis::{Connection, RedisResult};
use wurk_client::Promotion;

use crate::{RETRY, Shared, job, now};

/// How many jobs are read at a time.
const BATCH: usize = 100;

impl Shared {
    /// Moves the jobs whose retry is due to their queues. One of several processes moves
    /// each job, and none is ever in neither place.
    ///
    /// The plain commands could do this only below maxmemory, and there not at once:
    /// whoever pushes a job first may be the second to do so, and whoever removes it
    /// first may die before he pushes it.
    pub(crate) fn promote(&self, con: &mut Connection) -> RedisResult<()> {
        // Jobs that stay in the set.
        let mut kept = 0;
        while !self.stop.load(Relaxed) {
            let due: Vec<Vec<u8>> = redis::cmd("ZRANGEBYSCORE")
                .arg(RETRY)
                .arg("-inf")
                .arg(now())
                .arg("LIMIT")
                .arg(kept)
                .arg(BATCH)
                .query(con)?;
            if due.is_empty() {
                break;
            }
            for job in due {
                let public = job::queue_of(&job);
                let promotion = Promotion::new(RETRY, public.as_bytes(), &job);
                match self.wurk.promote(con, &promotion) {
                    // Whatever else is due must not wait for the key of this queue.
                    Err(error) if error.code() == Some("WRONGTYPE") => {
                        eprintln!("{}: {public}: {error}", self.process);
                        kept += 1;
                    }
                    result => drop(result?),
                }
            }
        }
        Ok(())
    }
}
