//! The calls over an asynchronous connection.

use std::time::{Duration, Instant};

use redis::aio::ConnectionLike;
use redis::{RedisError, RedisResult};

use crate::calls::{
    Acknowledge, Bclaim, Call, Claim, Claimed, Heartbeat, Kind, Lock, Queue, Requeue, Zadd,
};
use crate::ladder::Ladder;
use crate::route::{Road, Wurk};
use crate::wait::{self, Turn, Wait};

/// Over any asynchronous connection of the `redis` crate under tokio:
/// `MultiplexedConnection`, `ConnectionManager`, of a cluster. Each call is the
/// one without `_async`, which says what it does and returns.
impl Wurk {
    /// As [`claim`](Self::claim).
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> redis::RedisResult<()> {
    /// # let call = redis::cmd("WURK.CLAIM").arg(&["processes", "host:1:f00", "queue:mail", "queue:mail|mine"])
    /// #     .arg(&["{}", "1700000000.5", "60"]).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Nil))]);
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
    /// let claimed = Wurk::new().claim_async(&mut con, &heartbeat, &queues, None).await?;
    /// assert_eq!(claimed, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim).
    pub async fn claim_async<'q>(
        &self,
        con: &mut impl ConnectionLike,
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        oom: Option<RedisError>,
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            return Ok(None);
        }
        self.run_async(con, &Claim { heartbeat, queues }, oom).await
    }

    /// As [`claim_within`](Self::claim_within). A connection that others share
    /// is blocked for the slice: give the waiting one its own.
    ///
    /// A future that is dropped while it waits gives up on the reply: a job that
    /// comes in that moment stands in the private list.
    ///
    /// # Errors
    /// As for [`claim_within`](Self::claim_within).
    pub async fn claim_within_async<'q>(
        &self,
        con: &mut impl ConnectionLike,
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        wait: Duration,
        oom: Option<RedisError>,
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            tokio::time::sleep(wait).await;
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
                    tokio::time::sleep(pause).await;
                    continue;
                }
                Turn::Claim => self.run_async(con, &claim, oom.clone()).await?,
                Turn::Block(timeout) => {
                    let call = Bclaim { claim, timeout };
                    let mut ladder = Ladder::new(self, Kind::Bclaim, oom.clone());
                    let command = call.command(Road::Module);
                    match ladder.next(con.req_packed_command(&command).await) {
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

    /// As [`acknowledge`](Self::acknowledge).
    ///
    /// # Errors
    /// As for [`acknowledge`](Self::acknowledge).
    pub async fn acknowledge_async(
        &self,
        con: &mut impl ConnectionLike,
        private: &[u8],
        job: &[u8],
    ) -> RedisResult<bool> {
        Acknowledge { private, job }
            .command()
            .query_async(con)
            .await
    }

    /// As [`requeue`](Self::requeue).
    ///
    /// # Errors
    /// As for [`requeue`](Self::requeue).
    pub async fn requeue_async(
        &self,
        con: &mut impl ConnectionLike,
        private: &[u8],
        public: &[u8],
        job: &[u8],
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run_async(
            con,
            &Requeue {
                private,
                public,
                job,
            },
            oom,
        )
        .await
    }

    /// As [`lock`](Self::lock).
    ///
    /// # Errors
    /// As for [`lock`](Self::lock).
    pub async fn lock_async(
        &self,
        con: &mut impl ConnectionLike,
        key: &[u8],
        ttl: Duration,
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run_async(con, &Lock { key, ttl }, oom).await
    }

    /// As [`zadd`](Self::zadd).
    ///
    /// # Errors
    /// As for [`zadd`](Self::zadd).
    pub async fn zadd_async(
        &self,
        con: &mut impl ConnectionLike,
        key: &[u8],
        score: f64,
        member: &[u8],
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run_async(con, &Zadd { key, score, member }, oom).await
    }

    async fn run_async<C: Call>(
        &self,
        con: &mut impl ConnectionLike,
        call: &C,
        oom: Option<RedisError>,
    ) -> RedisResult<C::Reply> {
        let mut ladder = Ladder::new(self, C::KIND, oom);
        loop {
            let command = call.command(ladder.road());
            if let Some(result) = ladder.next(con.req_packed_command(&command).await) {
                return call.reply(result?);
            }
        }
    }
}
