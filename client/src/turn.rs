//! Acknowledgements and claims in one write: a state machine without I/O.

use redis::{Pipeline, RedisError, RedisResult, Value};

use crate::calls::{Call, Claim, acknowledge};
use crate::client::Wurk;
use crate::fallback::Fallback;
use crate::queue::Claimed;
use crate::strategy::CommandKind;

/// What one round trip has brought.
#[must_use = "the jobs are in the private lists: acknowledge or requeue them"]
#[derive(Debug)]
#[non_exhaustive]
pub struct Turn<'q> {
    /// For each job that was done whether it was still in its private list, or why the
    /// server did not acknowledge it.
    pub acknowledged: Vec<RedisResult<bool>>,
    /// The jobs that were claimed: fewer than asked for if the queues hold no more.
    pub claimed: Vec<Claimed<'q>>,
}

/// A turn on its way. The acknowledgements are sent once, before the first claims.
pub(crate) struct Batch<'a, 'q> {
    done: &'a [Claimed<'a>],
    claim: Claim<'a, 'q>,
    count: usize,
    fallback: Fallback<'a>,
    /// The replies to the acknowledgements, once they are here.
    acknowledged: Option<Vec<RedisResult<bool>>>,
}

impl<'a, 'q> Batch<'a, 'q> {
    pub(crate) fn new(
        wurk: &'a Wurk,
        done: &'a [Claimed<'a>],
        claim: Claim<'a, 'q>,
        count: usize,
    ) -> Self {
        let count = if claim.queues.is_empty() { 0 } else { count };
        Self {
            done,
            claim,
            count,
            fallback: Fallback::new(wurk.cache(), CommandKind::Claim, wurk.original_error()),
            acknowledged: None,
        }
    }

    /// What is to be sent now.
    pub(crate) fn pipeline(&self) -> Pipeline {
        let done = if self.acknowledged.is_none() {
            self.done
        } else {
            &[]
        };
        let mut pipeline = Pipeline::with_capacity(done.len() + self.count);
        for claimed in done {
            pipeline.add_command(acknowledge(claimed));
        }
        if self.count > 0 {
            let claim = self.claim.command(self.fallback.strategy());
            for _ in 1..self.count {
                pipeline.add_command(claim.clone());
            }
            pipeline.add_command(claim);
        }
        pipeline
    }

    /// The result if the connection failed: what was sent may have run.
    pub(crate) fn on_failure(mut self, error: RedisError) -> RedisError {
        match self.fallback.next(Err(error.clone())) {
            Some(Err(error)) => error,
            _ => error,
        }
    }

    /// The result, or `None`: the claims are to be sent once more, by another strategy.
    pub(crate) fn on_replies(
        &mut self,
        replies: Vec<RedisResult<Value>>,
    ) -> Option<RedisResult<Turn<'q>>> {
        let mut replies = replies
            .into_iter()
            .map(|reply| reply.and_then(Value::extract_error));
        if self.acknowledged.is_none() {
            let acknowledged = replies.by_ref().take(self.done.len());
            let read = |value| Ok(redis::from_redis_value(value)?);
            self.acknowledged = Some(acknowledged.map(|reply| reply.and_then(read)).collect());
        }
        let mut claimed = Vec::with_capacity(self.count);
        let mut refused = None;
        let mut once_more = false;
        for (place, reply) in replies.enumerate() {
            // All claims are the same command: the first says whether the server knows it.
            let result = match place {
                0 => match self.fallback.next(reply) {
                    Some(result) => result,
                    None => {
                        once_more = true;
                        continue;
                    }
                },
                _ => reply,
            };
            match result.and_then(|value| self.claim.reply(value)) {
                Ok(job) => claimed.extend(job),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match refused {
            _ if once_more && claimed.is_empty() => None,
            // Behind a job it is not lost: the next claim meets it.
            Some(error) if claimed.is_empty() => Some(Err(error)),
            _ => Some(Ok(Turn {
                acknowledged: self.acknowledged.take().unwrap_or_default(),
                claimed,
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat::Heartbeat;
    use crate::queue::Queue;

    const UNKNOWN: &str =
        "-ERR unknown command 'WURK.CLAIM', with args beginning with: 'processes' \r\n";
    const WRONGTYPE: &str =
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    const JOB: &str = "*2\r\n:1\r\n$3\r\njob\r\n";
    const NIL: &str = "$-1\r\n";

    fn replies(lines: &[&str]) -> Vec<RedisResult<Value>> {
        let parse = |line: &&str| redis::parse_redis_value(line.as_bytes());
        lines.iter().map(parse).collect()
    }

    /// Runs a turn with one job that is done and two claims by these replies.
    fn run(rounds: &[&[&str]]) -> (Vec<usize>, RedisResult<(usize, usize)>) {
        let wurk = Wurk::new();
        let queues = [Queue::new("q", "p")];
        let done = [Claimed::new(&queues[0], "done")];
        let heartbeat = Heartbeat::new(b"processes", b"id");
        let claim = Claim {
            heartbeat,
            queues: &queues,
        };
        let mut batch = Batch::new(&wurk, &done, claim, 2);
        let mut sent = Vec::new();
        for round in rounds {
            sent.push(batch.pipeline().len());
            if let Some(result) = batch.on_replies(replies(round)) {
                let counts = |turn: Turn| (turn.acknowledged.len(), turn.claimed.len());
                return (sent, result.map(counts));
            }
        }
        panic!("it wants more");
    }

    #[test]
    fn acknowledgements_are_sent_once() {
        let (sent, result) = run(&[&[":1\r\n", UNKNOWN, UNKNOWN], &[JOB, NIL]]);
        assert_eq!(sent, [3, 2]);
        assert_eq!(result, Ok((1, 1)));
    }

    #[test]
    fn a_job_that_was_claimed_is_returned_whatever_else_failed() {
        for round in [
            [":1\r\n", JOB, WRONGTYPE],
            [":1\r\n", WRONGTYPE, JOB],
            [WRONGTYPE, JOB, NIL],
            [":1\r\n", UNKNOWN, JOB],
        ] {
            assert_eq!(run(&[&round]).1, Ok((1, 1)), "{round:?}");
        }
        let result = run(&[&[":1\r\n", WRONGTYPE, NIL]]).1;
        assert_eq!(result.expect_err("an error").code(), Some("WRONGTYPE"));
    }
}
