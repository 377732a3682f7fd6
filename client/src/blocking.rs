//! The calls over a blocking connection.

use std::thread;
use std::time::{Duration, Instant};

use redis::{ConnectionLike, RedisError, RedisResult};

use crate::calls::{
    Acknowledge, Bclaim, Call, Claim, Claimed, Heartbeat, Kind, Lock, Queue, Requeue, Zadd,
};
use crate::ladder::Ladder;
use crate::route::{Road, Wurk};
use crate::wait::{self, Turn, Wait};

/// Over any blocking connection of the `redis` crate: plain, TLS, unix socket,
/// pooled, of a Sentinel or a cluster. `oom` is in every call the error that
/// sent the caller here, or `None`.
impl Wurk {
    /// Takes the next job: moves the tail of the first queue that holds one to
    /// the head of its private list, and writes the heartbeat, job or none.
    ///
    /// `queues` are looked at in order. `None` when all are empty; without
    /// queues nothing is sent.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.CLAIM").arg(&["processes", "host:1:f00", "queue:mail", "queue:mail|mine"])
    /// #     .arg(&["{}", "1700000000.5", "60"]).take();
    /// # let job = redis::Value::Array(vec![redis::Value::Int(1), redis::Value::BulkString(b"job".to_vec())]);
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(job))]);
    /// use std::time::Duration;
    /// use wurk_client::{Heartbeat, Queue, Wurk};
    ///
    /// let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    /// let heartbeat = Heartbeat {
    ///     processes: b"processes",
    ///     identity: b"host:1:f00",
    ///     info: b"{}",
    ///     beat: b"1700000000.5",
    ///     ttl: Duration::from_secs(60),
    /// };
    /// let claimed = Wurk::new().claim(&mut con, &heartbeat, &queues, None)?.expect("a job");
    /// assert_eq!(claimed.job, b"job");
    /// assert_eq!(claimed.queue.private, b"queue:mail|mine");
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// `oom`, unchanged, where no road leads on (the server's own refusal where
    /// the caller brought none); every other error of the server as it is, e.g.
    /// `WRONGTYPE`. No job has moved then, unless the reply was lost: a job that
    /// was claimed in that moment stands in the private list.
    ///
    /// In the server's words: `WURK.CLAIM`, or `HSET`, `SADD`, `EXPIRE`, `LMOVE`.
    pub fn claim<'q>(
        &self,
        con: &mut dyn ConnectionLike,
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        oom: Option<RedisError>,
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            return Ok(None);
        }
        self.run(con, &Claim { heartbeat, queues }, oom)
    }

    /// As [`claim`](Self::claim), but waits for a job for as long as `wait`.
    ///
    /// Where the server knows `WURK.BCLAIM` it does the waiting, up to
    /// [`slice`](Self::with_slice) at a time but never longer than a third of the
    /// heartbeat's `ttl`, and a job is here the moment it is pushed. Elsewhere the claim is made again with a growing pause, from 10
    /// ms to a second. Each look writes the heartbeat, from the second on with
    /// the clock as `beat`. Without queues it waits and sends nothing.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.BCLAIM").arg(&["processes", "host:1:f00", "queue:mail", "queue:mail|mine"])
    /// #     .arg(&["{}", "1700000000.5", "60", "0.25"]).take();
    /// # let job = redis::Value::Array(vec![redis::Value::Int(1), redis::Value::BulkString(b"job".to_vec())]);
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(job))]);
    /// # use std::time::Duration;
    /// # use wurk_client::{Heartbeat, Queue, Wurk};
    /// # let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    /// # let heartbeat = Heartbeat {
    /// #     processes: b"processes",
    /// #     identity: b"host:1:f00",
    /// #     info: b"{}",
    /// #     beat: b"1700000000.5",
    /// #     ttl: Duration::from_secs(60),
    /// # };
    /// let wait = Duration::from_secs(2);
    /// let claimed = Wurk::new().claim_within(&mut con, &heartbeat, &queues, wait, None)?;
    /// assert_eq!(claimed.expect("a job").job, b"job");
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim). A connection that gives up on a reply
    /// before the wait is over loses the reply: give it a read time-out above
    /// the slice.
    ///
    /// In the server's words: `WURK.BCLAIM`, or those of [`claim`](Self::claim).
    pub fn claim_within<'q>(
        &self,
        con: &mut dyn ConnectionLike,
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        wait: Duration,
        oom: Option<RedisError>,
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            thread::sleep(wait);
            return Ok(None);
        }
        let mut beat = None;
        let mut wait = Wait::new(Instant::now(), wait, self.slice(), heartbeat.ttl);
        loop {
            let blocks = self.road(Kind::Bclaim) == Road::Module;
            let turn = wait.turn(Instant::now(), blocks);
            let heartbeat = Heartbeat {
                beat: beat.as_deref().map_or(heartbeat.beat, str::as_bytes),
                ..*heartbeat
            };
            let claim = Claim {
                heartbeat: &heartbeat,
                queues,
            };
            let claimed = match turn {
                Turn::Over => return Ok(None),
                Turn::Pause(pause) => {
                    thread::sleep(pause);
                    continue;
                }
                Turn::Claim => self.run(con, &claim, oom.clone())?,
                Turn::Block(timeout) => {
                    let call = Bclaim { claim, timeout };
                    let mut ladder = Ladder::new(self, Kind::Bclaim, oom.clone());
                    match ladder.next(con.req_command(&call.command(Road::Module))) {
                        Some(result) => call.reply(result?)?,
                        // Unknown: from now on by claiming.
                        None => {
                            self.learn(Kind::Bclaim, ladder.road());
                            wait.unknown();
                            continue;
                        }
                    }
                }
            };
            if claimed.is_some() {
                return Ok(claimed);
            }
            beat = Some(wait::clock());
        }
    }

    /// Says that a job is done: takes it out of the private list. `false` when
    /// it was not there any more, e.g. because somebody took this process for
    /// dead and gave the job back.
    ///
    /// A full server permits it, so there is one road only.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("LREM").arg(&["queue:mail|mine", "1", "job"]).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Int(1)))]);
    /// let wurk = wurk_client::Wurk::new();
    /// assert!(wurk.acknowledge(&mut con, b"queue:mail|mine", b"job")?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// The server's, as they are.
    ///
    /// In the server's words: `LREM private 1 job`.
    pub fn acknowledge(
        &self,
        con: &mut dyn ConnectionLike,
        private: &[u8],
        job: &[u8],
    ) -> RedisResult<bool> {
        Acknowledge { private, job }.command().query(con)
    }

    /// Gives a job back: it will be the next that is claimed from `public`.
    /// `false` when it has left the private list since.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.REQUEUE").arg(&["queue:mail|mine", "queue:mail", "job"]).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Int(1)))]);
    /// let wurk = wurk_client::Wurk::new();
    /// assert!(wurk.requeue(&mut con, b"queue:mail|mine", b"queue:mail", b"job", None)?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim). The job stands in one of the lists.
    ///
    /// In the server's words: `WURK.REQUEUE`, or `RPUSH` and `LREM`.
    pub fn requeue(
        &self,
        con: &mut dyn ConnectionLike,
        private: &[u8],
        public: &[u8],
        job: &[u8],
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run(
            con,
            &Requeue {
                private,
                public,
                job,
            },
            oom,
        )
    }

    /// Takes a lock that lapses after `ttl` (in whole milliseconds, rounded up).
    /// `false` while somebody holds it.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.LOCK").arg("reaper").arg(30_000).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Okay))]);
    /// use std::time::Duration;
    ///
    /// let wurk = wurk_client::Wurk::new();
    /// assert!(wurk.lock(&mut con, b"reaper", Duration::from_secs(30), None)?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim), and `ERR invalid expire time` for a `ttl` of
    /// zero; nothing has been written.
    ///
    /// In the server's words: `WURK.LOCK`, or `SET key 1 NX PX ttl`.
    pub fn lock(
        &self,
        con: &mut dyn ConnectionLike,
        key: &[u8],
        ttl: Duration,
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run(con, &Lock { key, ttl }, oom)
    }

    /// Adds `member` to a sorted set: a failed job to where its retry is waited
    /// for, with the moment of the retry as `score`, mostly in seconds since 1970.
    /// `false` when it was there and only its score was updated.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let call = redis::cmd("WURK.ZADD").arg("retry").arg(1.5).arg("job").take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Int(1)))]);
    /// let wurk = wurk_client::Wurk::new();
    /// assert!(wurk.zadd(&mut con, b"retry", 1.5, b"job", None)?);
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim), and `ERR value is not a valid float` for a
    /// `score` that is no number; nothing has been written.
    ///
    /// In the server's words: `WURK.ZADD`, or `ZADD key score member`.
    pub fn zadd(
        &self,
        con: &mut dyn ConnectionLike,
        key: &[u8],
        score: f64,
        member: &[u8],
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run(con, &Zadd { key, score, member }, oom)
    }

    fn run<C: Call>(
        &self,
        con: &mut dyn ConnectionLike,
        call: &C,
        oom: Option<RedisError>,
    ) -> RedisResult<C::Reply> {
        let mut ladder = Ladder::new(self, C::KIND, oom);
        loop {
            let reply = con.req_command(&call.command(ladder.road()));
            if let Some(result) = ladder.next(reply) {
                return call.reply(result?);
            }
        }
    }
}
