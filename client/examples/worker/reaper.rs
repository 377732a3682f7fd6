//! Brings back the jobs of processes that died.

use redis::{Connection, RedisResult};
use wurk_client::{Claimed, Queue};

use crate::job::Job;
use crate::{DEAD, PROCESSES, RETRY, Shared, in_flight, now};

/// How often a job comes back from a dead process before it is taken for what killed it.
const POISON: u64 = 3;

/// Seconds within which a job that came back twice is due, at random: jobs that were in
/// flight beside the one that kills must not be so again, and be taken for it.
const APART: f64 = 10.0;

impl Shared {
    /// Brings back the jobs of processes whose heartbeat has expired.
    pub(crate) fn reap(&self, con: &mut Connection) -> RedisResult<()> {
        let identity = self.process.identity();
        // Jobs that were taken over on an earlier connection.
        let index = self.arguments.threads;
        for private in lists(con, identity.as_bytes(), index.to_string().as_bytes())? {
            self.recover_all(con, &Queue::new(public_of(&private), private.as_slice()))?;
        }
        let processes: Vec<Vec<u8>> = redis::cmd("SMEMBERS").arg(PROCESSES).query(con)?;
        for dead in processes {
            if redis::cmd("EXISTS").arg(&dead).query(con)? {
                continue;
            }
            for private in lists(con, &dead, b"*")? {
                let own = self.queue(public_of(&private), index);
                self.take_over(con, &private, &own)?;
                self.recover_all(con, &own)?;
            }
            redis::cmd("SREM").arg(PROCESSES).arg(&dead).exec(con)?;
        }
        Ok(())
    }

    /// Moves the jobs of a dead process to a private list of this one. One of several
    /// reapers gets each job, and if it dies too the next one finds the job there.
    fn take_over(&self, con: &mut Connection, dead: &[u8], own: &Queue) -> RedisResult<()> {
        let identity = self.process.identity();
        let lists = [Queue::new(dead, own.private.as_slice())];
        loop {
            let moved = self.wurk.claim(con, &self.heartbeat(&identity), &lists)?;
            if moved.is_none() {
                return Ok(());
            }
        }
    }

    /// Brings back every job of a list that only this thread writes to.
    fn recover_all(&self, con: &mut Connection, own: &Queue) -> RedisResult<()> {
        for claimed in in_flight(con, own)? {
            self.recover(con, &claimed)?;
        }
        Ok(())
    }

    /// Counts in a job that it came back from a dead process, and makes it due: the first
    /// time at once, the second a little later. The third time it is put among the dead,
    /// since it may be what killed them.
    ///
    /// It is in a sorted set before it leaves the list. Without a `jid` it is requeued as
    /// it is: equal jobs would be one member of the set.
    fn recover(&self, con: &mut Connection, claimed: &Claimed<'_>) -> RedisResult<()> {
        let job = Job::parse(&claimed.job).filter(|job| job.text("jid").is_some());
        let raised = job.and_then(|job| job.raise("recovered_count", &claimed.queue.public));
        let Some((count, again)) = raised else {
            self.wurk.requeue(con, claimed)?;
            return Ok(());
        };
        let (set, pause) = match count {
            ..2 => (RETRY, 0.0),
            2..POISON => (RETRY, APART * fastrand::f64()),
            POISON.. => (DEAD, 0.0),
        };
        self.zadd(con, set, now() + pause, &again)?;
        self.wurk.acknowledge(con, claimed)?;
        Ok(())
    }
}

/// The private lists of a process, `<public>|<host>|<pid>|<nonce>|<index>`, from its
/// identity, `<host>:<pid>:<nonce>`. `index` is a pattern.
pub(crate) fn lists(
    con: &mut Connection,
    identity: &[u8],
    index: &[u8],
) -> RedisResult<Vec<Vec<u8>>> {
    let mut pattern = b"queue:*|".to_vec();
    for byte in identity {
        match byte {
            b':' => pattern.push(b'|'),
            b'*' | b'?' | b'[' | b']' | b'\\' => pattern.extend([b'\\', *byte]),
            _ => pattern.push(*byte),
        }
    }
    pattern.push(b'|');
    pattern.extend(index);
    redis::cmd("KEYS").arg(pattern).query(con)
}

/// The queue of a private list. The queue's name may contain the separator too.
fn public_of(private: &[u8]) -> &[u8] {
    let public = private.rsplitn(5, |byte| *byte == b'|').nth(4);
    public.unwrap_or(private)
}
