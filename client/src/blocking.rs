//! The calls over a blocking connection.

use std::thread;
use std::time::Duration;

use redis::{Cmd, ConnectionLike, FromRedisValue, RedisResult};

use crate::calls::{Beat, Claim, Lock, Promote, Requeue, Zadd, acknowledge};
use crate::client::Wurk;
use crate::error_class::is_oom;
use crate::heartbeat::Heartbeat;
use crate::machine::{Attempt, Machine, Step, WaitingClaim};
use crate::queue::{Claimed, Promotion, Queue};

/// Over any blocking connection of the `redis` crate: plain, TLS, unix socket,
/// pooled, of a Sentinel or a cluster.
impl Wurk {
    /// Claims the next job: moves the tail of the first queue that holds one to the
    /// head of its private list, and writes the heartbeat, job or none.
    ///
    /// `queues` are in order of preference. Returns `None` if all are empty;
    /// without queues nothing is sent.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.CLAIM").arg(&["processes", "host:1:f00", "queue:mail", "queue:mail|mine"])
    /// #     .arg(&["{}", "1700000000.5", "60"]).take();
    /// # let job = redis::Value::Array(vec![redis::Value::Int(1), redis::Value::BulkString(b"job".to_vec())]);
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(job))]);
    /// use wurk_client::{Heartbeat, Queue, Wurk};
    ///
    /// let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    /// let heartbeat = Heartbeat::new(b"processes", b"host:1:f00");
    /// # let heartbeat = heartbeat.with_beat(b"1700000000.5");
    /// let claimed = Wurk::new().claim(&mut con, &heartbeat, &queues)?.expect("a job");
    /// assert_eq!(claimed.job, b"job");
    /// assert_eq!(claimed.queue.private, b"queue:mail|mine");
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// The server's, as it is, e.g. `WRONGTYPE`; if neither the module nor a script
    /// is available, the one of [`or_else_oom`](Self::or_else_oom), or else the
    /// server's last. No job has moved then, unless the reply was lost: a job that
    /// was claimed in that moment is in the private list.
    ///
    /// Equivalent to `WURK.CLAIM`, or `HSET`, `SADD`, `EXPIRE` and `LMOVE`.
    pub fn claim<'q>(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            return Ok(None);
        }
        let heartbeat = *heartbeat;
        drive(con, Attempt::new(self, Claim { heartbeat, queues }))
    }

    /// [`claim`](Self::claim) that waits up to `timeout` for a job.
    ///
    /// If the server has `WURK.BCLAIM` it does the waiting, for
    /// [a block timeout](Self::with_block_timeout) at a time, and a job is here the
    /// moment it is pushed. Otherwise the queues are polled with growing pauses,
    /// from 10 ms to a second. Each of them writes the heartbeat. Without queues it
    /// waits and sends nothing.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.BCLAIM").arg(&["processes", "host:1:f00", "queue:mail", "queue:mail|mine"])
    /// #     .arg(&["{}", "1700000000.5", "60", "0.25"]).take();
    /// # let job = redis::Value::Array(vec![redis::Value::Int(1), redis::Value::BulkString(b"job".to_vec())]);
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(job))]);
    /// # use wurk_client::{Heartbeat, Queue, Wurk};
    /// # let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    /// # let heartbeat = Heartbeat::new(b"processes", b"host:1:f00").with_beat(b"1700000000.5");
    /// use std::time::Duration;
    ///
    /// let timeout = Duration::from_secs(2);
    /// let claimed = Wurk::new().claim_timeout(&mut con, &heartbeat, &queues, timeout)?;
    /// assert_eq!(claimed.expect("a job").job, b"job");
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim). A connection that gives up on a reply before
    /// the block timeout loses the reply: its read timeout has to be longer.
    ///
    /// Equivalent to `WURK.BCLAIM`, or [`claim`](Self::claim) again and again.
    pub fn claim_timeout<'q>(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        timeout: Duration,
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            thread::sleep(timeout);
            return Ok(None);
        }
        let heartbeat = *heartbeat;
        let claim = Claim { heartbeat, queues };
        drive(con, WaitingClaim::new(self, claim, timeout))
    }

    /// Acknowledges a job that is done: removes it from the private list. Returns
    /// `false` if it was no longer there, e.g. because a reaper took this process
    /// for dead and requeued it.
    ///
    /// No server refuses this for memory.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # use wurk_client::{Claimed, Queue, Wurk};
    /// # let call = redis::cmd("LREM").arg(&["queue:mail|mine", "1", "job"]).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Int(1)))]);
    /// # let queue = Queue::new("queue:mail", "queue:mail|mine");
    /// # let claimed = Claimed::new(&queue, "job");
    /// assert!(Wurk::new().acknowledge(&mut con, &claimed)?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// The server's, as it is.
    ///
    /// Equivalent to `LREM private 1 job`.
    pub fn acknowledge(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        claimed: &Claimed<'_>,
    ) -> RedisResult<bool> {
        let value = con.req_command(&acknowledge(claimed))?;
        Ok(redis::from_redis_value(value.extract_error()?)?)
    }

    /// Requeues a job: it will be the next that is claimed from its queue. Returns
    /// `false` if it was no longer in the private list.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # use wurk_client::{Claimed, Queue, Wurk};
    /// # let call = redis::cmd("WURK.REQUEUE").arg(&["queue:mail|mine", "queue:mail", "job"]).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Int(1)))]);
    /// # let queue = Queue::new("queue:mail", "queue:mail|mine");
    /// # let claimed = Claimed::new(&queue, "job");
    /// assert!(Wurk::new().requeue(&mut con, &claimed)?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim). The job is in one of the lists.
    ///
    /// Equivalent to `WURK.REQUEUE`, or `RPUSH` and `LREM`.
    pub fn requeue(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        claimed: &Claimed<'_>,
    ) -> RedisResult<bool> {
        drive(con, Attempt::new(self, Requeue(claimed)))
    }

    /// Tries to acquire a lock that expires after `ttl` (in whole milliseconds,
    /// rounded up). Returns `false` if it is held.
    ///
    /// A lock has no owner: deleting the key releases it, whoever does so.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # use std::time::Duration;
    /// # let call = redis::cmd("WURK.LOCK").arg("reaper").arg(30_000).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Okay))]);
    /// let wurk = wurk_client::Wurk::new();
    /// assert!(wurk.try_lock(&mut con, b"reaper", Duration::from_secs(30))?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim), and `ERR invalid expire time` for a `ttl` of
    /// zero; nothing has been written.
    ///
    /// Equivalent to `WURK.LOCK`, or `SET key 1 NX PX ttl`.
    pub fn try_lock(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        key: &[u8],
        ttl: Duration,
    ) -> RedisResult<bool> {
        drive(con, Attempt::new(self, Lock { key, ttl }))
    }

    /// Adds `member` to a sorted set: a failed job to the set that it is retried
    /// from, with the time of the retry as `score`, usually in seconds since 1970.
    /// Returns `false` if it was a member and only its score was updated.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.ZADD").arg("retry").arg(1.5).arg("job").take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Int(1)))]);
    /// let wurk = wurk_client::Wurk::new();
    /// assert!(wurk.zadd(&mut con, b"retry", 1.5, b"job")?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim), and `ERR value is not a valid float` for a
    /// `score` that is not a number; nothing has been written.
    ///
    /// Equivalent to `WURK.ZADD`, or `ZADD key score member`.
    pub fn zadd(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        key: &[u8],
        score: f64,
        member: &[u8],
    ) -> RedisResult<bool> {
        drive(con, Attempt::new(self, Zadd { key, score, member }))
    }

    /// Promotes a job whose time has come: moves it from a sorted set to its queue,
    /// to the end that is claimed last. Returns `false` if it was no longer in the
    /// set: of several pollers one wins.
    ///
    /// `ZRANGEBYSCORE scheduled -inf <now>`, which no server refuses for memory, lists
    /// what is due.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.PROMOTE").arg(&["retry", "queue:mail", "job"]).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Int(1)))]);
    /// use wurk_client::{Promotion, Wurk};
    ///
    /// let promotion = Promotion::new(b"retry", b"queue:mail", b"job");
    /// assert!(Wurk::new().promote(&mut con, &promotion)?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim). The job is in the set, or in the list.
    ///
    /// Equivalent to `WURK.PROMOTE`, or `LPUSH` and `ZREM`.
    pub fn promote(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        promotion: &Promotion<'_>,
    ) -> RedisResult<bool> {
        drive(con, Attempt::new(self, Promote(*promotion)))
    }

    /// Writes the heartbeat of a process without a claim, for one that has no thread
    /// free to claim.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.BEAT").arg(&["processes", "host:1:f00", "{}", "1700000000.5", "60"]).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Okay))]);
    /// use wurk_client::{Heartbeat, Wurk};
    ///
    /// let heartbeat = Heartbeat::new(b"processes", b"host:1:f00");
    /// # let heartbeat = heartbeat.with_beat(b"1700000000.5");
    /// Wurk::new().beat(&mut con, &heartbeat)?;
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim); nothing has been written.
    ///
    /// Equivalent to `WURK.BEAT`, or `HSET`, `SADD` and `EXPIRE`.
    pub fn beat(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        heartbeat: &Heartbeat<'_>,
    ) -> RedisResult<()> {
        drive(con, Attempt::new(self, Beat(*heartbeat)))
    }

    /// Runs a plain command, and `instead` if the server refuses it for memory.
    ///
    /// `instead` gets a [`Wurk`] whose calls return the OOM error of the command,
    /// unchanged, if neither the module nor a script is available.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let plain = redis::cmd("ZADD").arg("retry").arg(1.5).arg("job").take();
    /// # let oom = redis::make_extension_error("OOM".into(), None);
    /// # let call = redis::cmd("WURK.ZADD").arg("retry").arg(1.5).arg("job").take();
    /// # let mut con = MockRedisConnection::new([
    /// #     MockCmd::new(plain, Err::<redis::Value, _>(oom)),
    /// #     MockCmd::new(call, Ok(redis::Value::Int(1))),
    /// # ]);
    /// # let wurk = wurk_client::Wurk::new();
    /// let zadd = redis::cmd("ZADD").arg("retry").arg(1.5).arg("job").take();
    /// let added = wurk.query_or(&mut con, &zadd, |wurk, con| wurk.zadd(con, b"retry", 1.5, b"job"))?;
    /// assert!(added);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// Those of the command, or of `instead`.
    pub fn query_or<C: ConnectionLike + ?Sized, T: FromRedisValue>(
        &self,
        con: &mut C,
        command: &Cmd,
        instead: impl FnOnce(&Self, &mut C) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let reply = con.req_command(command);
        match reply.and_then(redis::Value::extract_error) {
            Err(oom) if is_oom(&oom) => instead(&self.or_else_oom(oom), con),
            reply => Ok(redis::from_redis_value(reply?)?),
        }
    }
}

pub(crate) fn drive<M: Machine>(
    con: &mut (impl ConnectionLike + ?Sized),
    mut machine: M,
) -> RedisResult<M::Output> {
    loop {
        match machine.step() {
            Step::Send(command) => machine.on_reply(con.req_command(&command)),
            Step::Sleep(pause) => thread::sleep(pause),
            Step::Done(result) => return result,
        }
    }
}
