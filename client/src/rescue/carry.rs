//! A rescue on its way: a state machine without I/O.

use std::time::{Duration, Instant};

use redis::{Cmd, RedisResult, Value};

use super::full::Memory;
use super::request::Request;
use super::words::{Words, is, only_moves};
use crate::cache::Cache;
use crate::fallback::Fallback;
use crate::machine::{Machine, Step};
use crate::strategy::{CommandKind, Strategy};

/// The first pause of a move that waits, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How many pauses later it is sent once more as it is, so that the server does the
/// waiting once it has room.
const PAUSES: u32 = 10;

/// What has become of commands that were refused.
#[derive(Debug)]
pub(crate) enum Carried {
    /// They have run: their replies.
    Yes(Value),
    /// None has run: the caller's own error is the answer.
    No,
}

/// Commands that are carried to a server that has refused them.
pub(crate) struct Carry<'a> {
    memory: &'a Memory,
    request: Request<'a>,
    fallback: Fallback<'a>,
    sent: Sent,
    /// How the move waits, if it is one that does.
    wait: Option<Wait>,
    result: Option<RedisResult<Carried>>,
}

enum Sent {
    Nothing,
    Info,
    /// The whole, and whether its reply is an array of replies.
    Commands {
        wrapped: bool,
    },
    /// The move as it is.
    Plain,
}

struct Wait {
    /// `None`: for ever.
    end: Option<Instant>,
    pause: Duration,
    pauses: u32,
    paused: bool,
}

impl Wait {
    /// Of a move that waits. `None` if its timeout is no number: the server has the words
    /// for that.
    fn of(words: &Words) -> Option<Self> {
        let timeout = std::str::from_utf8(words.last()?).ok()?;
        let timeout = Duration::try_from_secs_f64(timeout.parse().ok()?).ok()?;
        let end = (!timeout.is_zero()).then(|| Instant::now() + timeout);
        Some(Self {
            end,
            pause: FIRST_PAUSE,
            pauses: 0,
            paused: false,
        })
    }

    fn left(&self) -> Option<Duration> {
        self.end
            .map(|end| end.saturating_duration_since(Instant::now()))
    }
}

impl<'a> Carry<'a> {
    pub(crate) fn new(cache: &'a Cache, memory: &'a Memory, request: Request<'a>) -> Self {
        let mut result = None;
        let mut wait = None;
        let kind = match request.commands {
            [words] if !request.atomic => {
                if is(words, &["BLMOVE", "BRPOPLPUSH"]) {
                    wait = Wait::of(words);
                    result = wait.is_none().then_some(Ok(Carried::No));
                }
                CommandKind::Rescue
            }
            _ => CommandKind::RescueAll,
        };
        Self {
            memory,
            request,
            fallback: Fallback::new(cache, kind, None),
            sent: Sent::Nothing,
            wait,
            result,
        }
    }

    /// The move as it is, with the time that is left.
    fn plain(&self, words: &Words) -> Cmd {
        let mut command = Cmd::new();
        command.arg(&words[..words.len().saturating_sub(1)]);
        let left = self.wait.as_ref().and_then(Wait::left);
        command.arg(left.unwrap_or_default().as_secs_f64());
        command
    }

    fn is_single_move(&self) -> bool {
        matches!(self.request.commands, [words] if only_moves(words))
    }
}

impl Machine for Carry<'_> {
    type Output = Carried;

    fn step(&mut self) -> Step<Carried> {
        if let Some(result) = self.result.take() {
            return Step::Done(result);
        }
        if self.memory.is_to_be_asked() {
            self.sent = Sent::Info;
            return Step::Send(redis::cmd("INFO").arg("memory").take());
        }
        if self.memory.is_past_limit() && !self.is_single_move() {
            return Step::Done(Ok(Carried::No));
        }
        if let Some(wait) = &mut self.wait
            && wait.paused
        {
            wait.paused = false;
            let pause = wait.pause.min(wait.left().unwrap_or(wait.pause));
            wait.pause = (wait.pause * 2).min(LONGEST_PAUSE);
            return Step::Sleep(pause);
        }
        if let (Some(wait), [words]) = (&mut self.wait, self.request.commands)
            && wait.pauses >= PAUSES
        {
            wait.pauses = 0;
            self.sent = Sent::Plain;
            return Step::Send(self.plain(words));
        }
        self.request.protocol = self.memory.protocol();
        let strategy = self.fallback.strategy();
        let Some(command) = self.request.command(strategy) else {
            return Step::Done(Ok(Carried::No));
        };
        let own_script = matches!(self.request.commands, [words] if is(words, &["EVAL"]));
        let direct = strategy == Strategy::Module || (own_script && !self.request.atomic);
        self.sent = Sent::Commands { wrapped: !direct };
        Step::Send(command)
    }

    fn on_reply(&mut self, reply: RedisResult<Value>) {
        match std::mem::replace(&mut self.sent, Sent::Nothing) {
            Sent::Nothing => {}
            // Whoever may not ask goes on without an answer.
            Sent::Info => self.memory.on_info(reply.unwrap_or(Value::Nil)),
            Sent::Plain => match reply.and_then(Value::extract_error) {
                Err(error) if crate::is_oom(&error) => self.memory.on_oom(),
                result => self.result = Some(result.map(Carried::Yes)),
            },
            Sent::Commands { wrapped } => {
                let Some(result) = self.fallback.next(reply) else {
                    return;
                };
                if self.fallback.is_exhausted() {
                    self.result = Some(Ok(Carried::No));
                    return;
                }
                let value = match result {
                    Ok(Value::Array(mut replies))
                        if wrapped && self.request.commands.len() == 1 && !self.request.atomic =>
                    {
                        replies.pop().unwrap_or(Value::Nil)
                    }
                    Ok(value) => value,
                    Err(error) => {
                        self.result = Some(Err(error));
                        return;
                    }
                };
                if let (Some(wait), Value::Nil) = (&mut self.wait, &value)
                    && wrapped
                    && wait.left().is_none_or(|left| !left.is_zero())
                {
                    wait.paused = true;
                    wait.pauses += 1;
                    return;
                }
                self.result = Some(Ok(Carried::Yes(value)));
            }
        }
    }
}
