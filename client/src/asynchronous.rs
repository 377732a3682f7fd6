//! The calls over an asynchronous connection.

use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Cmd, FromRedisValue, RedisResult};

use crate::calls::{Beat, Claim, Lock, Promote, Requeue, Zadd, acknowledge};
use crate::client::Wurk;
use crate::error_class::is_oom;
use crate::heartbeat::Heartbeat;
use crate::machine::{Attempt, Machine, Step, WaitingClaim};
use crate::queue::{Claimed, Promotion, Queue};

/// Over any asynchronous connection of the `redis` crate under tokio:
/// `MultiplexedConnection`, `ConnectionManager`, of a cluster. Each is the call
/// without `_async`, which documents it.
impl Wurk {
    /// [`claim`](Self::claim).
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> redis::RedisResult<()> {
    /// # let call = redis::cmd("WURK.CLAIM").arg(&["processes", "host:1:f00", "queue:mail", "queue:mail|mine"])
    /// #     .arg(&["{}", "1700000000.5", "60"]).take();
    /// # let mut con = MockRedisConnection::new([MockCmd::new(call, Ok(redis::Value::Nil))]);
    /// use wurk_client::{Heartbeat, Queue, Wurk};
    ///
    /// let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    /// let heartbeat = Heartbeat::new(b"processes", b"host:1:f00");
    /// # let heartbeat = heartbeat.with_beat(b"1700000000.5");
    /// let claimed = Wurk::new().claim_async(&mut con, &heartbeat, &queues).await?;
    /// assert_eq!(claimed, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`claim`](Self::claim).
    ///
    /// # Cancel safety
    /// Not cancel safe: a job claimed after the drop stays in the private list.
    pub async fn claim_async<'q>(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            return Ok(None);
        }
        let heartbeat = *heartbeat;
        drive(con, Attempt::new(self, Claim { heartbeat, queues })).await
    }

    /// [`claim_timeout`](Self::claim_timeout). It blocks its connection for the
    /// block timeout: do not share it with others.
    ///
    /// # Errors
    /// As for [`claim_timeout`](Self::claim_timeout).
    ///
    /// # Cancel safety
    /// Not cancel safe: a job claimed after the drop stays in the private list.
    pub async fn claim_timeout_async<'q>(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        timeout: Duration,
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            tokio::time::sleep(timeout).await;
            return Ok(None);
        }
        let heartbeat = *heartbeat;
        let claim = Claim { heartbeat, queues };
        drive(con, WaitingClaim::new(self, claim, timeout)).await
    }

    /// [`acknowledge`](Self::acknowledge).
    ///
    /// # Errors
    /// As for [`acknowledge`](Self::acknowledge).
    pub async fn acknowledge_async(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        claimed: &Claimed<'_>,
    ) -> RedisResult<bool> {
        let value = con.req_packed_command(&acknowledge(claimed)).await?;
        Ok(redis::from_redis_value(value.extract_error()?)?)
    }

    /// [`requeue`](Self::requeue).
    ///
    /// # Errors
    /// As for [`requeue`](Self::requeue).
    pub async fn requeue_async(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        claimed: &Claimed<'_>,
    ) -> RedisResult<bool> {
        drive(con, Attempt::new(self, Requeue(claimed))).await
    }

    /// [`try_lock`](Self::try_lock).
    ///
    /// # Errors
    /// As for [`try_lock`](Self::try_lock).
    pub async fn try_lock_async(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        key: &[u8],
        ttl: Duration,
    ) -> RedisResult<bool> {
        drive(con, Attempt::new(self, Lock { key, ttl })).await
    }

    /// [`zadd`](Self::zadd).
    ///
    /// # Errors
    /// As for [`zadd`](Self::zadd).
    pub async fn zadd_async(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        key: &[u8],
        score: f64,
        member: &[u8],
    ) -> RedisResult<bool> {
        drive(con, Attempt::new(self, Zadd { key, score, member })).await
    }

    /// [`promote`](Self::promote).
    ///
    /// # Errors
    /// As for [`promote`](Self::promote).
    pub async fn promote_async(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        promotion: &Promotion<'_>,
    ) -> RedisResult<bool> {
        drive(con, Attempt::new(self, Promote(*promotion))).await
    }

    /// [`beat`](Self::beat).
    ///
    /// # Errors
    /// As for [`beat`](Self::beat).
    pub async fn beat_async(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        heartbeat: &Heartbeat<'_>,
    ) -> RedisResult<()> {
        drive(con, Attempt::new(self, Beat(*heartbeat))).await
    }

    /// [`query_or`](Self::query_or).
    ///
    /// # Errors
    /// As for [`query_or`](Self::query_or).
    pub async fn query_or_async<C: ConnectionLike + ?Sized, T: FromRedisValue>(
        &self,
        con: &mut C,
        command: &Cmd,
        instead: impl AsyncFnOnce(&Self, &mut C) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let reply = con.req_packed_command(command).await;
        match reply.and_then(redis::Value::extract_error) {
            Err(oom) if is_oom(&oom) => instead(&self.or_else_oom(oom), con).await,
            reply => Ok(redis::from_redis_value(reply?)?),
        }
    }
}

pub(crate) async fn drive<M: Machine>(
    con: &mut (impl ConnectionLike + ?Sized),
    mut machine: M,
) -> RedisResult<M::Output> {
    loop {
        match machine.step() {
            Step::Send(command) => machine.on_reply(con.req_packed_command(&command).await),
            Step::Sleep(pause) => tokio::time::sleep(pause).await,
            Step::Done(result) => return result,
        }
    }
}
