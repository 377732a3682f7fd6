//! The calls that are several commands in one write, over connections of both kinds.

use redis::{ConnectionLike, RedisResult};

use crate::calls::Claim;
use crate::client::Wurk;
use crate::heartbeat::Heartbeat;
use crate::queue::{Claimed, Queue};
use crate::turn::{Batch, Turn};

/// Several commands in one write: one round trip a job.
impl Wurk {
    /// Acknowledges jobs that are done and claims up to `count` others, in one round
    /// trip: as [`acknowledge`](Self::acknowledge) for each of `done`, then
    /// [`claim`](Self::claim) `count` times.
    ///
    /// A worker that has one job at a time passes that job and 1; one that has
    /// several asks for more, and each is in a private list until it is acknowledged.
    /// A turn that brings no job has found every queue empty; then
    /// [`claim_timeout`](Self::claim_timeout) waits for one.
    ///
    /// ```
    /// # use redis_test::{MockCmd, MockRedisConnection};
    /// # let mut pipeline = redis::pipe();
    /// # pipeline.cmd("LREM").arg(&["queue:mail|mine", "1", "one"]);
    /// # pipeline.cmd("WURK.CLAIM").arg(&["processes", "host:1:f00", "queue:mail", "queue:mail|mine"])
    /// #     .arg(&["{}", "1700000000.5", "60"]);
    /// # let job = redis::Value::Array(vec![redis::Value::Int(1), redis::Value::BulkString(b"two".to_vec())]);
    /// # let mut con = MockRedisConnection::new([MockCmd::with_values(pipeline, Ok(vec![redis::Value::Int(1), job]))]);
    /// # use wurk_client::{Claimed, Heartbeat, Queue, Wurk};
    /// # let queues = [Queue::new("queue:mail", "queue:mail|mine")];
    /// # let heartbeat = Heartbeat::new(b"processes", b"host:1:f00").with_beat(b"1700000000.5");
    /// let done = [Claimed::new(&queues[0], "one")];
    /// let turn = Wurk::new().acknowledge_and_claim(&mut con, &done, &heartbeat, &queues, 1)?;
    /// assert_eq!(turn.acknowledged, [Ok(true)]);
    /// assert_eq!(turn.claimed[0].job, b"two");
    /// # Ok::<(), redis::RedisError>(())
    /// ```
    ///
    /// In a cluster all keys must share a hash tag, those of the jobs that are done
    /// too. A blocking cluster connection has no pipelines of one slot: there each
    /// command is a round trip of its own.
    ///
    /// # Errors
    /// As for [`claim`](Self::claim), if no job was claimed; what the server said to
    /// each acknowledgement is in the [`Turn`].
    ///
    /// If the replies are lost, any part of it may have run, and nothing is sent again.
    /// A job of `done` that is still in its private list is there to be found, and so
    /// is one that was claimed: look there on the next connection, as for a claim whose
    /// reply was lost. To acknowledge once more does no harm unless two jobs are equal.
    ///
    /// Equivalent to `LREM private 1 job` for each that is done, and `WURK.CLAIM`
    /// `count` times.
    pub fn acknowledge_and_claim<'q>(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        done: &[Claimed<'_>],
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        count: usize,
    ) -> RedisResult<Turn<'q>> {
        let heartbeat = *heartbeat;
        let mut batch = Batch::new(self, done, Claim { heartbeat, queues }, count);
        loop {
            let pipeline = batch.pipeline();
            let replies = if con.supports_pipelining() && !pipeline.is_empty() {
                let packed = pipeline.get_packed_pipeline();
                match con.req_packed_commands(&packed, 0, pipeline.len()) {
                    Ok(values) => values.into_iter().map(Ok).collect(),
                    Err(error) => return Err(batch.on_failure(error)),
                }
            } else {
                let mut replies = Vec::with_capacity(pipeline.len());
                for command in pipeline.cmd_iter() {
                    match con.req_command(command) {
                        Err(error) if error.is_io_error() => return Err(batch.on_failure(error)),
                        reply => replies.push(reply),
                    }
                }
                replies
            };
            if let Some(result) = batch.on_replies(replies) {
                return result;
            }
        }
    }

    /// Claims up to `count` jobs in one round trip; fewer if the queues hold no more.
    /// As [`acknowledge_and_claim`](Self::acknowledge_and_claim) with none that is
    /// done.
    ///
    /// # Errors
    /// As for [`claim`](Self::claim), if no job was claimed.
    ///
    /// Equivalent to `WURK.CLAIM` `count` times.
    pub fn claim_many<'q>(
        &self,
        con: &mut (impl ConnectionLike + ?Sized),
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        count: usize,
    ) -> RedisResult<Vec<Claimed<'q>>> {
        let turn = self.acknowledge_and_claim(con, &[], heartbeat, queues, count)?;
        Ok(turn.claimed)
    }

    /// [`acknowledge_and_claim`](Self::acknowledge_and_claim). In a cluster it is one
    /// round trip too, to the node that has the slot.
    ///
    /// # Errors
    /// As for [`acknowledge_and_claim`](Self::acknowledge_and_claim).
    ///
    /// # Cancel safety
    /// Not cancel safe: a job claimed after the drop stays in the private list.
    #[cfg(feature = "tokio")]
    pub async fn acknowledge_and_claim_async<'q>(
        &self,
        con: &mut (impl redis::aio::ConnectionLike + ?Sized),
        done: &[Claimed<'_>],
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        count: usize,
    ) -> RedisResult<Turn<'q>> {
        let heartbeat = *heartbeat;
        let mut batch = Batch::new(self, done, Claim { heartbeat, queues }, count);
        loop {
            let pipeline = batch.pipeline();
            let replies = if pipeline.is_empty() {
                Vec::new()
            } else {
                match con.req_packed_commands(&pipeline, 0, pipeline.len()).await {
                    Ok(values) => values.into_iter().map(Ok).collect(),
                    Err(error) => return Err(batch.on_failure(error)),
                }
            };
            if let Some(result) = batch.on_replies(replies) {
                return result;
            }
        }
    }

    /// [`claim_many`](Self::claim_many).
    ///
    /// # Errors
    /// As for [`claim_many`](Self::claim_many).
    ///
    /// # Cancel safety
    /// Not cancel safe: jobs claimed after the drop stay in the private lists.
    #[cfg(feature = "tokio")]
    pub async fn claim_many_async<'q>(
        &self,
        con: &mut (impl redis::aio::ConnectionLike + ?Sized),
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        count: usize,
    ) -> RedisResult<Vec<Claimed<'q>>> {
        let turn = self
            .acknowledge_and_claim_async(con, &[], heartbeat, queues, count)
            .await?;
        Ok(turn.claimed)
    }
}

#[cfg(test)]
mod tests {
    use redis::{ErrorKind, RedisError, Value};

    use super::*;

    /// A connection without pipelines, as to a cluster, and its next replies.
    struct OneByOne(Vec<RedisResult<Value>>);

    impl ConnectionLike for OneByOne {
        fn req_packed_command(&mut self, _: &[u8]) -> RedisResult<Value> {
            self.0.pop().expect("one call more than there are replies")
        }

        fn req_packed_commands(&mut self, _: &[u8], _: usize, _: usize) -> RedisResult<Vec<Value>> {
            unreachable!("it has no pipelines")
        }

        fn get_db(&self) -> i64 {
            0
        }

        fn check_connection(&mut self) -> bool {
            true
        }

        fn is_open(&self) -> bool {
            true
        }

        fn supports_pipelining(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_lost_reply_is_an_error_whatever_came_before_it() {
        let job = Value::Array(vec![Value::Int(1), Value::BulkString(b"job".to_vec())]);
        for before in [vec![], vec![Value::Int(1)], vec![Value::Int(1), job]] {
            let lost = RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
            let mut replies = vec![Err(lost)];
            replies.extend(before.into_iter().rev().map(Ok));
            let queues = [Queue::new("q", "p")];
            let done = [Claimed::new(&queues[0], "done")];
            let heartbeat = Heartbeat::new(b"processes", b"id");
            let mut con = OneByOne(replies);
            let turn = Wurk::new().acknowledge_and_claim(&mut con, &done, &heartbeat, &queues, 2);
            assert_eq!(turn.expect_err("no reply").kind(), ErrorKind::Io);
            assert!(con.0.is_empty(), "nothing is sent behind it");
        }
    }
}
