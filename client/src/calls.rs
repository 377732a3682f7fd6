//! The calls: what each sends by each strategy, and what its reply means.

use std::time::Duration;

use redis::{Cmd, RedisResult, Value};

use crate::heartbeat::{Clock, Heartbeat};
use crate::queue::{Claimed, Promotion, Queue};
use crate::strategy::{CommandKind, Strategy};

/// A call that can be sent by any strategy.
pub(crate) trait Call {
    const KIND: CommandKind;
    /// What the caller gets.
    type Reply;

    /// How many keys and other arguments there are, and the bytes of them all.
    fn size(&self) -> (usize, usize, usize);

    /// Appends the keys, then the other arguments.
    fn arguments(&self, command: &mut Cmd);

    /// Reads the server's reply.
    fn reply(&self, value: Value) -> RedisResult<Self::Reply>;

    /// The command for a strategy, in buffers that need not grow.
    fn command(&self, strategy: Strategy) -> Cmd {
        let (keys, others, bytes) = self.size();
        let text = match strategy {
            Strategy::Module => {
                let name = Self::KIND.name();
                let mut command = Cmd::with_capacity(1 + keys + others, name.len() + bytes);
                command.arg(name);
                self.arguments(&mut command);
                return command;
            }
            Strategy::Script => Self::KIND.script().text,
            Strategy::WriteFirstScript => Self::KIND.script().legacy_text(),
        };
        let mut command = Cmd::with_capacity(3 + keys + others, text.len() + bytes + 16);
        command.arg("EVAL").arg(text).arg(keys);
        self.arguments(&mut command);
        command
    }
}

/// Bytes for a number of any 64 bits.
const NUMBER: usize = 20;

/// `WURK.BEAT`.
pub(crate) struct Beat<'a>(pub(crate) Heartbeat<'a>);

impl Beat<'_> {
    fn keys(&self, command: &mut Cmd) {
        command.arg(self.0.processes).arg(self.0.identity);
    }

    fn others(&self, command: &mut Cmd) {
        let Heartbeat {
            info, beat, ttl, ..
        } = self.0;
        let seconds = ttl
            .as_secs()
            .saturating_add(u64::from(ttl.subsec_nanos() > 0));
        command.arg(info);
        match beat {
            Some(beat) => command.arg(beat),
            None => command.arg(Clock::now().bytes()),
        };
        command.arg(seconds);
    }
}

impl Call for Beat<'_> {
    const KIND: CommandKind = CommandKind::Beat;
    type Reply = ();

    fn size(&self) -> (usize, usize, usize) {
        let Heartbeat {
            processes,
            identity,
            info,
            beat,
            ..
        } = self.0;
        let beat = beat.map_or(Clock::LENGTH, <[u8]>::len);
        let bytes = processes.len() + identity.len() + info.len() + beat + NUMBER;
        (2, 3, bytes)
    }

    fn arguments(&self, command: &mut Cmd) {
        self.keys(command);
        self.others(command);
    }

    fn reply(&self, _: Value) -> RedisResult<()> {
        Ok(())
    }
}

/// `WURK.CLAIM`.
#[derive(Clone, Copy)]
pub(crate) struct Claim<'a, 'q> {
    pub(crate) heartbeat: Heartbeat<'a>,
    pub(crate) queues: &'q [Queue],
}

impl<'q> Call for Claim<'_, 'q> {
    const KIND: CommandKind = CommandKind::Claim;
    type Reply = Option<Claimed<'q>>;

    fn size(&self) -> (usize, usize, usize) {
        let (keys, others, bytes) = Beat(self.heartbeat).size();
        let lists = self.queues.iter();
        let lists: usize = lists
            .map(|queue| queue.public.len() + queue.private.len())
            .sum();
        (keys + 2 * self.queues.len(), others, bytes + lists)
    }

    fn arguments(&self, command: &mut Cmd) {
        let beat = Beat(self.heartbeat);
        beat.keys(command);
        for queue in self.queues {
            command.arg(&queue.public).arg(&queue.private);
        }
        beat.others(command);
    }

    fn reply(&self, value: Value) -> RedisResult<Self::Reply> {
        let Some((number, job)) = redis::from_redis_value::<Option<(usize, Vec<u8>)>>(value)?
        else {
            return Ok(None);
        };
        match self.queues.get(number.wrapping_sub(1)) {
            Some(queue) => Ok(Some(Claimed { queue, job })),
            None => Err(unexpected("a claim from a queue that was not asked for")),
        }
    }
}

/// `WURK.BCLAIM`.
pub(crate) struct Bclaim<'a, 'q> {
    pub(crate) claim: Claim<'a, 'q>,
    /// Not zero, which would be no timeout.
    pub(crate) timeout: Duration,
}

impl<'q> Call for Bclaim<'_, 'q> {
    const KIND: CommandKind = CommandKind::Bclaim;
    type Reply = Option<Claimed<'q>>;

    fn size(&self) -> (usize, usize, usize) {
        let (keys, others, bytes) = self.claim.size();
        (keys, others + 1, bytes + NUMBER)
    }

    fn arguments(&self, command: &mut Cmd) {
        self.claim.arguments(command);
        command.arg(self.timeout.as_secs_f64());
    }

    fn reply(&self, value: Value) -> RedisResult<Self::Reply> {
        self.claim.reply(value)
    }
}

/// `WURK.REQUEUE`.
pub(crate) struct Requeue<'a>(pub(crate) &'a Claimed<'a>);

impl Call for Requeue<'_> {
    const KIND: CommandKind = CommandKind::Requeue;
    type Reply = bool;

    fn size(&self) -> (usize, usize, usize) {
        let Claimed { queue, job } = self.0;
        let bytes = queue.private.len() + queue.public.len() + job.len();
        (2, 1, bytes)
    }

    fn arguments(&self, command: &mut Cmd) {
        let Claimed { queue, job } = self.0;
        command.arg(&queue.private).arg(&queue.public).arg(job);
    }

    fn reply(&self, value: Value) -> RedisResult<bool> {
        Ok(redis::from_redis_value(value)?)
    }
}

/// `WURK.LOCK`.
pub(crate) struct Lock<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) ttl: Duration,
}

impl Call for Lock<'_> {
    const KIND: CommandKind = CommandKind::Lock;
    type Reply = bool;

    fn size(&self) -> (usize, usize, usize) {
        (1, 1, self.key.len() + NUMBER)
    }

    fn arguments(&self, command: &mut Cmd) {
        let milliseconds = self.ttl.as_nanos().div_ceil(1_000_000);
        command
            .arg(self.key)
            .arg(u64::try_from(milliseconds).unwrap_or(u64::MAX));
    }

    fn reply(&self, value: Value) -> RedisResult<bool> {
        Ok(!matches!(value, Value::Nil))
    }
}

/// `WURK.ZADD`.
pub(crate) struct Zadd<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) score: f64,
    pub(crate) member: &'a [u8],
}

impl Call for Zadd<'_> {
    const KIND: CommandKind = CommandKind::Zadd;
    type Reply = bool;

    fn size(&self) -> (usize, usize, usize) {
        (1, 2, self.key.len() + NUMBER + self.member.len())
    }

    fn arguments(&self, command: &mut Cmd) {
        command.arg(self.key).arg(self.score).arg(self.member);
    }

    fn reply(&self, value: Value) -> RedisResult<bool> {
        Ok(redis::from_redis_value(value)?)
    }
}

/// `WURK.PROMOTE`.
pub(crate) struct Promote<'a>(pub(crate) Promotion<'a>);

impl Call for Promote<'_> {
    const KIND: CommandKind = CommandKind::Promote;
    type Reply = bool;

    fn size(&self) -> (usize, usize, usize) {
        let Promotion {
            scheduled,
            public,
            job,
            payload,
        } = self.0;
        let bytes = scheduled.len() + public.len() + job.len() + payload.map_or(0, <[u8]>::len);
        (2, 1 + usize::from(payload.is_some()), bytes)
    }

    fn arguments(&self, command: &mut Cmd) {
        let Promotion {
            scheduled,
            public,
            job,
            payload,
        } = self.0;
        command.arg(scheduled).arg(public).arg(job).arg(payload);
    }

    fn reply(&self, value: Value) -> RedisResult<bool> {
        Ok(redis::from_redis_value(value)?)
    }
}

/// `LREM private 1 job`, which no server refuses for memory.
pub(crate) fn acknowledge(Claimed { queue, job }: &Claimed) -> Cmd {
    let name = "LREM";
    let bytes = name.len() + queue.private.len() + NUMBER + job.len();
    let mut command = Cmd::with_capacity(4, bytes);
    command.arg(name).arg(&queue.private).arg(1).arg(job);
    command
}

fn unexpected(what: &'static str) -> redis::RedisError {
    (redis::ErrorKind::UnexpectedReturnType, what).into()
}
