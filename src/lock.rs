//! `WURK.LOCK`: a lock that lapses, for the process that reaps the dead.

use crate::expiry;
use crate::server::stats::{self, Counter};
use crate::server::{About, Access, Answer, Arg, Argument, Command, Ctx, Keys, Outcome, Refusal};

/// `WURK.LOCK key ttl`
///
/// Takes the lock `key` for `ttl` milliseconds. Replies `OK`, or nil while
/// somebody holds it.
///
/// In the server's words: `SET key 1 NX PX ttl`.
pub(crate) struct Lock;

impl Command for Lock {
    const ABOUT: About = About {
        name: c"wurk.lock",
        flags: c"write fast",
        categories: c"write string fast",
        arity: 3,
        key_positions: (1, 1, 1),
        summary: c"Takes a lock that lapses by itself, also at maxmemory.",
        complexity: c"O(1)",
        keys: &[Keys::one(1, Access::Insert)],
        arguments: &[Argument::key(c"key", 0), Argument::integer(c"ttl")],
    };

    const COUNTS: [&'static Counter; 2] = [&stats::LOCKS, &stats::LOCKS_HELD];
    const GROWS: bool = true;

    fn run(ctx: &Ctx, args: &[Arg]) -> Outcome {
        let [_, key, ttl] = args else {
            return Err(Refusal::WrongArity);
        };
        let milliseconds = ttl.integer().ok_or(Refusal::NotAnInteger)?;
        // SET would say the same, but in its own name.
        expiry::in_milliseconds(milliseconds, ctx.now()).ok_or(Refusal::InvalidExpire)?;
        let reply = ctx.set_if_absent(*key, c"1", *ttl).ok()?;
        Ok(if reply.is_nil() {
            Answer::Nil
        } else {
            Answer::Ok
        })
    }
}
