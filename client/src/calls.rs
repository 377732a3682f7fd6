//! The calls: what each sends on each road, and what its reply says.

use std::time::Duration;

use redis::{Cmd, RedisResult, Value};

use crate::route::Road;
use crate::scripts::{self, Script};

/// A queue, and the caller's own list of the jobs it has in flight from it.
///
/// In a cluster both keys must share a hash tag with each other and with the
/// keys of the [`Heartbeat`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Queue {
    /// The list that jobs are pushed to.
    pub public: Vec<u8>,
    /// The list that this process moves them to.
    pub private: Vec<u8>,
}

impl Queue {
    /// A queue of these two lists.
    pub fn new(public: impl Into<Vec<u8>>, private: impl Into<Vec<u8>>) -> Self {
        Self {
            public: public.into(),
            private: private.into(),
        }
    }
}

/// What a claim says of the process that claims: that it is alive.
///
/// A full server refuses the heartbeat's own `HSET`; without it the process
/// would be taken for dead and its jobs for orphans.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeat<'a> {
    /// The set of all processes' identities.
    pub processes: &'a [u8],
    /// The hash of this process, and its member in that set.
    pub identity: &'a [u8],
    /// What the process is: its field `info`, written where there is no hash yet.
    pub info: &'a [u8],
    /// When it was last seen: its field `beat`, in seconds since 1970.
    pub beat: &'a [u8],
    /// How long the hash lives without another heartbeat; in whole seconds,
    /// rounded up. Zero is refused with `ERR invalid expire time`.
    pub ttl: Duration,
}

/// A job that now stands in a private list of the caller's.
#[must_use = "the job is in the private list: acknowledge it, or give it back"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed<'q> {
    /// The queue it came from.
    pub queue: &'q Queue,
    /// The job, byte for byte.
    pub job: Vec<u8>,
}

/// Which call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Claim,
    /// Has no script: by any road but the module's it is claiming again.
    Bclaim,
    Requeue,
    Lock,
    Zadd,
}

impl Kind {
    pub(crate) const COUNT: usize = 5;

    /// The module's command.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Bclaim => "WURK.BCLAIM",
            _ => self.script().command,
        }
    }

    /// The script that does the same.
    pub(crate) fn script(self) -> &'static Script {
        match self {
            Self::Claim | Self::Bclaim => &scripts::CLAIM,
            Self::Requeue => &scripts::REQUEUE,
            Self::Lock => &scripts::LOCK,
            Self::Zadd => &scripts::ZADD,
        }
    }
}

/// A call that can be sent by any road.
pub(crate) trait Call {
    const KIND: Kind;
    /// What the caller gets.
    type Reply;

    /// How many keys and other arguments there are, and the bytes of them all.
    fn size(&self) -> (usize, usize, usize);

    /// Appends the keys, then the other arguments.
    fn arguments(&self, command: &mut Cmd);

    /// What the server's reply means.
    fn reply(&self, value: Value) -> RedisResult<Self::Reply>;

    /// The command for `road`, in buffers that need not grow.
    fn command(&self, road: Road) -> Cmd {
        let (keys, others, bytes) = self.size();
        let text = match road {
            Road::Module => {
                let name = Self::KIND.command();
                let mut command = Cmd::with_capacity(1 + keys + others, name.len() + bytes);
                command.arg(name);
                self.arguments(&mut command);
                return command;
            }
            Road::Script => Self::KIND.script().text,
            Road::ScriptBehindAWrite => Self::KIND.script().behind_a_write(),
        };
        let mut command = Cmd::with_capacity(3 + keys + others, text.len() + bytes + 16);
        command.arg("EVAL").arg(text).arg(keys);
        self.arguments(&mut command);
        command
    }
}

/// Bytes for a number of any 64 bits.
const NUMBER: usize = 20;

/// `WURK.CLAIM`.
pub(crate) struct Claim<'a, 'q> {
    pub(crate) heartbeat: &'a Heartbeat<'a>,
    pub(crate) queues: &'q [Queue],
}

impl<'q> Call for Claim<'_, 'q> {
    const KIND: Kind = Kind::Claim;
    type Reply = Option<Claimed<'q>>;

    fn size(&self) -> (usize, usize, usize) {
        let Heartbeat {
            processes,
            identity,
            info,
            beat,
            ..
        } = self.heartbeat;
        let lists: usize = self
            .queues
            .iter()
            .map(|queue| queue.public.len() + queue.private.len())
            .sum();
        let bytes = processes.len() + identity.len() + lists + info.len() + beat.len() + NUMBER;
        (2 + 2 * self.queues.len(), 3, bytes)
    }

    fn arguments(&self, command: &mut Cmd) {
        let Heartbeat {
            processes,
            identity,
            info,
            beat,
            ttl,
        } = *self.heartbeat;
        command.arg(processes).arg(identity);
        for queue in self.queues {
            command.arg(&queue.public).arg(&queue.private);
        }
        let seconds = ttl
            .as_secs()
            .saturating_add(u64::from(ttl.subsec_nanos() > 0));
        command.arg(info).arg(beat).arg(seconds);
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
    /// Not zero, which would be for ever.
    pub(crate) timeout: Duration,
}

impl<'q> Call for Bclaim<'_, 'q> {
    const KIND: Kind = Kind::Bclaim;
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
pub(crate) struct Requeue<'a> {
    pub(crate) private: &'a [u8],
    pub(crate) public: &'a [u8],
    pub(crate) job: &'a [u8],
}

impl Call for Requeue<'_> {
    const KIND: Kind = Kind::Requeue;
    type Reply = bool;

    fn size(&self) -> (usize, usize, usize) {
        (
            2,
            1,
            self.private.len() + self.public.len() + self.job.len(),
        )
    }

    fn arguments(&self, command: &mut Cmd) {
        command.arg(self.private).arg(self.public).arg(self.job);
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
    const KIND: Kind = Kind::Lock;
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
    const KIND: Kind = Kind::Zadd;
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

/// `LREM private 1 job`.
pub(crate) struct Acknowledge<'a> {
    pub(crate) private: &'a [u8],
    pub(crate) job: &'a [u8],
}

impl Acknowledge<'_> {
    pub(crate) fn command(&self) -> Cmd {
        let name = "LREM";
        let bytes = name.len() + self.private.len() + NUMBER + self.job.len();
        let mut command = Cmd::with_capacity(4, bytes);
        command.arg(name).arg(self.private).arg(1).arg(self.job);
        command
    }
}

fn unexpected(what: &'static str) -> redis::RedisError {
    (redis::ErrorKind::UnexpectedReturnType, what).into()
}
