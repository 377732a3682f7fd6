//! `WURK.ZADD`: put a failed job where its retry is waited for.

use crate::server::stats::{self, Counter};
use crate::server::{About, Access, Answer, Arg, Argument, Command, Ctx, Keys, Outcome, Refusal};

/// `WURK.ZADD key score member`
///
/// Adds `member` to a sorted set. Replies 1, or 0 when it was there and only
/// its score has been updated.
///
/// In the server's words: `ZADD key score member`.
pub(crate) struct Zadd;

impl Command for Zadd {
    const ABOUT: About = About {
        name: c"wurk.zadd",
        flags: c"write fast",
        categories: c"write sortedset fast",
        arity: 4,
        key_positions: (1, 1, 1),
        summary: c"Adds a member to a sorted set or updates its score, also at maxmemory.",
        complexity: c"O(log(N)) where N is the number of members.",
        keys: &[Keys::one(1, Access::Update)],
        arguments: &[
            Argument::key(c"key", 0),
            Argument::double(c"score"),
            Argument::string(c"member"),
        ],
    };

    const COUNTS: [&'static Counter; 2] = [&stats::ZADDS, &stats::ZADDS];
    const GROWS: bool = true;

    fn run(ctx: &Ctx, args: &[Arg]) -> Outcome {
        let [_, key, score, member] = args else {
            return Err(Refusal::WrongArity);
        };
        let added = ctx.call(c"ZADD", &[*key, *score, *member]).ok()?;
        Ok(Answer::Integer(added.integer()))
    }
}
