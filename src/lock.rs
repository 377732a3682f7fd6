//! `WURK.LOCK`: a lock that expires, for the process that reaps the dead.

use crate::expiry;
use crate::server::stats::{self, Counter};
use crate::server::{
    Arg, Argument, Command, CommandInfo, Ctx, Error, KeyFlags, KeySpec, KeyType, Reply, Result,
};

/// `WURK.LOCK key ttl`
///
/// Acquires the lock `key` for `ttl` milliseconds. It has no owner: whoever deletes
/// the key releases it. Replies `OK`, or nil if the lock is held.
///
/// Equivalent to `SET key 1 NX PX ttl`.
pub(crate) struct Lock;

impl Command for Lock {
    const INFO: CommandInfo = CommandInfo {
        name: c"wurk.lock",
        flags: c"write fast",
        categories: c"write string fast",
        arity: 3,
        key_positions: (1, 1, 1),
        summary: c"Acquires a lock that expires, also at maxmemory.",
        complexity: c"O(1)",
        keys: &[KeySpec::one(1, KeyFlags::Insert)],
        arguments: &[Argument::key(c"key", 0), Argument::integer(c"ttl")],
    };

    const COUNTS: Option<[&'static Counter; 2]> = Some([&stats::LOCKS, &stats::LOCKS_HELD]);
    const GROWS: bool = true;

    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply> {
        let [_, key, ttl] = args else {
            return Err(Error::WrongArity);
        };
        let milliseconds = ttl.integer().ok_or(Error::NotAnInteger)?;
        // SET would say the same, but in its own name.
        expiry::in_milliseconds(milliseconds, ctx.now()).ok_or(Error::InvalidExpire)?;
        // Of the processes that ask every second, one is let in.
        if ctx.open_for_writing(*key).key_type() != KeyType::Absent {
            return Ok(Reply::Nil);
        }
        let reply = ctx.set_if_absent(*key, c"1", *ttl).into_result()?;
        Ok(if reply.is_nil() {
            Reply::Nil
        } else {
            Reply::Ok
        })
    }
}
