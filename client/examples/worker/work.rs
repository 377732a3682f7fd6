//! Claims and works on one job after another.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use redis::{Connection, RedisResult};
use signal_hook::consts::SIGKILL;
use wurk_client::{Claimed, Heartbeat, Queue};

use crate::job::Job;
use crate::{RETRY, Shared, in_flight, now};

impl Shared {
    /// Claims and works on one job after another.
    pub(crate) fn work(&self, con: &mut Connection, index: usize) -> RedisResult<()> {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&self.arguments.done)?;
        let names = self.arguments.queues.iter();
        let queues: Vec<_> = names
            .map(|queue| self.queue(format!("queue:{}", queue.name), index))
            .collect();
        let identity = self.process.identity();
        // Jobs that this thread claimed on an earlier connection and did not finish.
        for queue in &queues {
            self.requeue_all(con, queue)?;
        }
        let heartbeat = self.heartbeat(&identity);
        let timeout = Duration::from_secs(2);
        // The job that is done, to be acknowledged together with the next claim.
        let mut done: Option<Claimed<'_>> = None;
        while !self.stop.load(Relaxed) {
            let order = self.by_weight(&queues);
            let next = match done.take() {
                Some(done) => self.next(con, &done, &heartbeat, &order)?,
                None => self.wurk.claim_timeout(con, &heartbeat, &order, timeout)?,
            };
            let Some(claimed) = next else {
                continue;
            };
            let queue = queues.iter().find(|queue| *queue == claimed.queue);
            let claimed = Claimed::new(queue.unwrap_or(&queues[0]), claimed.job);
            self.pause(Duration::from_millis(self.arguments.work));
            if self.stop.load(Relaxed) {
                self.wurk.requeue(con, &claimed)?;
            } else if self.finish(con, &mut file, &claimed)? {
                done = Some(claimed);
            }
        }
        if let Some(done) = done {
            self.wurk.acknowledge(con, &done)?;
        }
        Ok(())
    }

    /// Acknowledges a job and claims the next, in one round trip.
    fn next<'q>(
        &self,
        con: &mut Connection,
        done: &Claimed<'_>,
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
    ) -> RedisResult<Option<Claimed<'q>>> {
        let done = std::slice::from_ref(done);
        let turn = self
            .wurk
            .acknowledge_and_claim(con, done, heartbeat, queues, 1)?;
        // If the server took this thread for dead, a reaper has brought the job back.
        for acknowledged in turn.acknowledged {
            acknowledged?;
        }
        Ok(turn.claimed.into_iter().next())
    }

    /// Does the job, or schedules its retry if it fails. Returns whether it is to be
    /// acknowledged, which comes last, so that it is never lost.
    fn finish(
        &self,
        con: &mut Connection,
        done: &mut File,
        claimed: &Claimed<'_>,
    ) -> RedisResult<bool> {
        let Claimed { queue, job, .. } = claimed;
        let parsed = Job::parse(job);
        if parsed.as_ref().is_some_and(|job| job.is_true("kill")) {
            // A poison message: as if it had taken all of the machine's memory.
            signal_hook::low_level::raise(SIGKILL)?;
        }
        let fails =
            self.arguments.fail_one_in > 0 && fastrand::u32(..self.arguments.fail_one_in) == 0;
        if fails {
            let raised = parsed.and_then(|job| job.raise("retry_count", &queue.public));
            let Some((count, again)) = raised else {
                // Not a JSON object: retries cannot be counted in it, and equal jobs
                // would be one member of the sorted set.
                self.pause(Duration::from_secs(1));
                self.wurk.requeue(con, claimed)?;
                return Ok(false);
            };
            // Later each time.
            self.zadd(con, RETRY, now() + (count as f64).powi(2), &again)?;
        } else {
            let jid = parsed.and_then(|job| job.text("jid"));
            // One write: other threads append to the file too.
            let line = format!("{}\n", jid.as_deref().unwrap_or("no jid"));
            done.write_all(line.as_bytes())?;
        }
        Ok(true)
    }

    /// Requeues a whole private list, starting with the job that was claimed last.
    fn requeue_all(&self, con: &mut Connection, queue: &Queue) -> RedisResult<()> {
        for claimed in in_flight(con, queue)? {
            self.wurk.requeue(con, &claimed)?;
        }
        Ok(())
    }

    /// Shuffles the queues by their weights.
    fn by_weight(&self, queues: &[Queue]) -> Vec<Queue> {
        let weights = self.arguments.queues.iter();
        let weights = weights.map(|queue| queue.weight.max(1));
        let mut left: Vec<_> = queues.iter().zip(weights).collect();
        let mut order = Vec::with_capacity(queues.len());
        while !left.is_empty() {
            let total: u32 = left.iter().map(|(_, weight)| weight).sum();
            let mut drawn = fastrand::u32(..total);
            let at = left.iter().position(|(_, weight)| {
                let hit = drawn < *weight;
                drawn = drawn.saturating_sub(*weight);
                hit
            });
            order.push(left.remove(at.unwrap_or(0)).0.clone());
        }
        order
    }
}
