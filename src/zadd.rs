//! `WURK.ZADD`: put a failed job into the sorted set that it is retried from.

use crate::server::stats::{self, Counter};
use crate::server::{
    Arg, Argument, Command, CommandInfo, Ctx, Error, KeyFlags, KeySpec, Reply, Result,
};

/// `WURK.ZADD key score member`
///
/// Adds `member` to a sorted set. Replies 1, or 0 if it was a member and only its
/// score has been updated.
///
/// Equivalent to `ZADD key score member`.
pub(crate) struct Zadd;

impl Command for Zadd {
    const INFO: CommandInfo = CommandInfo {
        name: c"wurk.zadd",
        flags: c"write fast",
        categories: c"write sortedset fast",
        arity: 4,
        key_positions: (1, 1, 1),
        summary: c"Adds a member to a sorted set or updates its score, also at maxmemory.",
        complexity: c"O(log(N)) where N is the number of members.",
        keys: &[KeySpec::one(1, KeyFlags::Update)],
        arguments: &[
            Argument::key(c"key", 0),
            Argument::double(c"score"),
            Argument::string(c"member"),
        ],
    };

    const COUNTS: Option<[&'static Counter; 2]> = Some([&stats::ZADDS, &stats::ZADDS]);
    const GROWS: bool = true;

    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply> {
        let [_, key, score, member] = args else {
            return Err(Error::WrongArity);
        };
        let added = ctx.add_to_sorted_set(*key, *score, *member)?;
        Ok(Reply::Integer(i64::from(added)))
    }
}
