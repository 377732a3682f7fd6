//! Calls as state machines without I/O, so that the blocking and the asynchronous
//! drivers only send and sleep.

use std::time::{Duration, Instant};

use redis::{Cmd, RedisResult, Value};

use crate::calls::{Bclaim, Call, Claim};
use crate::client::Wurk;
use crate::fallback::Fallback;
use crate::queue::Claimed;
use crate::strategy::{CommandKind, Strategy};
use crate::wait::{Turn, Wait};

/// What a driver does next.
pub(crate) enum Step<T> {
    /// Send this, and pass its reply to [`Machine::on_reply`].
    Send(Cmd),
    Sleep(Duration),
    Done(RedisResult<T>),
}

/// Steps until [`Step::Done`].
pub(crate) trait Machine {
    type Output;

    fn step(&mut self) -> Step<Self::Output>;
    fn on_reply(&mut self, reply: RedisResult<Value>);
}

/// One call, sent by one strategy after another.
pub(crate) struct Attempt<'w, C> {
    call: C,
    fallback: Fallback<'w>,
    result: Option<RedisResult<Value>>,
}

impl<'w, C: Call> Attempt<'w, C> {
    pub(crate) fn new(wurk: &'w Wurk, call: C) -> Self {
        Self {
            call,
            fallback: Fallback::new(wurk.cache(), C::KIND, wurk.original_error()),
            result: None,
        }
    }
}

impl<C: Call> Machine for Attempt<'_, C> {
    type Output = C::Reply;

    fn step(&mut self) -> Step<C::Reply> {
        match self.result.take() {
            Some(result) => Step::Done(result.and_then(|value| self.call.reply(value))),
            None => Step::Send(self.call.command(self.fallback.strategy())),
        }
    }

    fn on_reply(&mut self, reply: RedisResult<Value>) {
        self.result = self.fallback.next(reply);
    }
}

/// A claim that waits: blocked in the server, or polling.
pub(crate) struct WaitingClaim<'a, 'q> {
    wurk: &'a Wurk,
    claim: Claim<'a, 'q>,
    wait: Wait,
    /// What has been sent last.
    sent: Option<Sent<'a>>,
    result: Option<RedisResult<Option<Claimed<'q>>>>,
}

enum Sent<'a> {
    Claim(Fallback<'a>),
    Bclaim(Fallback<'a>),
}

impl<'a, 'q> WaitingClaim<'a, 'q> {
    pub(crate) fn new(wurk: &'a Wurk, claim: Claim<'a, 'q>, timeout: Duration) -> Self {
        let (block_timeout, ttl) = (wurk.block_timeout(), claim.heartbeat.ttl);
        Self {
            wurk,
            claim,
            wait: Wait::new(Instant::now(), timeout, block_timeout, ttl),
            sent: None,
            result: None,
        }
    }

    fn fallback(&self, kind: CommandKind) -> Fallback<'a> {
        Fallback::new(self.wurk.cache(), kind, self.wurk.original_error())
    }
}

impl<'q> Machine for WaitingClaim<'_, 'q> {
    type Output = Option<Claimed<'q>>;

    fn step(&mut self) -> Step<Self::Output> {
        if let Some(result) = self.result.take() {
            return Step::Done(result);
        }
        // A claim by the next strategy.
        if let Some(Sent::Claim(fallback)) = &self.sent {
            return Step::Send(self.claim.command(fallback.strategy()));
        }
        let blocks = self.wurk.cache().get(CommandKind::Bclaim) == Strategy::Module;
        match self.wait.turn(Instant::now(), blocks) {
            Turn::Over => Step::Done(Ok(None)),
            Turn::Pause(pause) => Step::Sleep(pause),
            Turn::Claim => {
                let fallback = self.fallback(CommandKind::Claim);
                let command = self.claim.command(fallback.strategy());
                self.sent = Some(Sent::Claim(fallback));
                Step::Send(command)
            }
            Turn::Block(timeout) => {
                self.sent = Some(Sent::Bclaim(self.fallback(CommandKind::Bclaim)));
                let claim = self.claim;
                Step::Send(Bclaim { claim, timeout }.command(Strategy::Module))
            }
        }
    }

    fn on_reply(&mut self, reply: RedisResult<Value>) {
        let result = match self.sent.take() {
            None => return,
            Some(Sent::Claim(mut fallback)) => match fallback.next(reply) {
                Some(result) => result,
                None => {
                    self.sent = Some(Sent::Claim(fallback));
                    return;
                }
            },
            Some(Sent::Bclaim(mut fallback)) => match fallback.next(reply) {
                Some(result) => result,
                None => {
                    // Unknown: from now on it polls.
                    let cache = self.wurk.cache();
                    cache.set(CommandKind::Bclaim, fallback.strategy());
                    self.wait.unknown();
                    return;
                }
            },
        };
        match result.and_then(|value| self.claim.reply(value)) {
            // What the caller said of the time is over.
            Ok(None) => self.claim.heartbeat.beat = None,
            result => self.result = Some(result),
        }
    }
}
