//! Which road is tried next: a state machine without I/O.
//!
//! Whoever drives it sends the call by [`road`](Ladder::road), hands the reply
//! to [`next`](Ladder::next), and does so again until there is a result. Only
//! an unknown command leads from the module to the script, and only a server
//! that will not run the script leads further. Everything else is the answer:
//! above all, a call whose reply was lost is not sent again.

use redis::{RedisError, RedisResult, Value};

use crate::calls::Kind;
use crate::refusal::{Refusal, read};
use crate::route::{Road, Wurk};

/// One call on its way.
pub(crate) struct Ladder<'w> {
    wurk: &'w Wurk,
    kind: Kind,
    road: Road,
    /// What sent the caller here, and what it gets back where no road leads on.
    own: Option<RedisError>,
}

impl<'w> Ladder<'w> {
    pub(crate) fn new(wurk: &'w Wurk, kind: Kind, own: Option<RedisError>) -> Self {
        Self {
            wurk,
            kind,
            road: wurk.road(kind),
            own,
        }
    }

    /// How the call is to be sent now.
    pub(crate) fn road(&self) -> Road {
        self.road
    }

    /// The result of the call, or nothing: it is to be sent once more.
    pub(crate) fn next(&mut self, reply: RedisResult<Value>) -> Option<RedisResult<Value>> {
        let error = match reply.and_then(Value::extract_error) {
            Ok(value) => {
                self.wurk.learn(self.kind, self.road);
                return Some(Ok(value));
            }
            Err(error) => error,
        };
        let refusal = read(self.kind.command(), &error);
        self.road = match (self.road, refusal) {
            (Road::Module, Refusal::UnknownCommand) => Road::Script,
            (Road::Script, Refusal::CannotCompile | Refusal::Oom) => Road::ScriptBehindAWrite,
            (Road::Script | Road::ScriptBehindAWrite, Refusal::NoScripts)
            | (Road::ScriptBehindAWrite, Refusal::CannotCompile | Refusal::Oom) => {
                self.wurk.learn(self.kind, self.road);
                return Some(Err(self.own.take().unwrap_or(error)));
            }
            (_, Refusal::Moved) => {
                self.wurk.forget();
                return Some(Err(error));
            }
            (road, _) => {
                self.wurk.learn(self.kind, road);
                return Some(Err(error));
            }
        };
        None
    }
}
