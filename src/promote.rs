//! `WURK.PROMOTE`: put a job whose time has come into its queue.

use crate::server::stats::{self, Counter};
use crate::server::{
    Arg, Argument, Command, CommandInfo, Ctx, Error, KeyFlags, KeySpec, Reply, Result,
};
use crate::transfer::push_then_remove;

/// `WURK.PROMOTE scheduled public job [payload]`
///
/// Moves `job` from a sorted set to the head of its public list, the end that is
/// claimed last; there it is `payload`, if that is given.
///
/// Replies 1, or 0 if the job is no longer in the set; then nothing has been written:
/// of several pollers one wins. Nothing has been written either if the keys are not a
/// sorted set and a list.
///
/// Equivalent to `LPUSH public payload`, then `ZREM scheduled job`: the job is in the
/// list before it leaves the set.
pub(crate) struct Promote;

impl Command for Promote {
    const INFO: CommandInfo = CommandInfo {
        name: c"wurk.promote",
        flags: c"write",
        categories: c"write sortedset list slow",
        arity: -4,
        key_positions: (1, 2, 1),
        summary: c"Moves a job from a sorted set to its public list, also at maxmemory.",
        complexity: c"O(log(N)) where N is the number of members of the sorted set.",
        keys: &[
            KeySpec::one(1, KeyFlags::AccessDelete),
            KeySpec::one(2, KeyFlags::Insert),
        ],
        arguments: &[
            Argument::key(c"scheduled", 0),
            Argument::key(c"public", 1),
            Argument::string(c"job"),
            Argument::optional_string(c"payload"),
        ],
    };

    const COUNTS: Option<[&'static Counter; 2]> =
        Some([&stats::PROMOTIONS, &stats::PROMOTIONS_MISSED]);

    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply> {
        let (scheduled, public, job, payload) = match *args {
            [_, scheduled, public, job] => (scheduled, public, job, job),
            [_, scheduled, public, job, payload] => (scheduled, public, job, payload),
            _ => return Err(Error::WrongArity),
        };
        push_then_remove(
            ctx,
            public,
            || ctx.sorted_set_has(scheduled, job),
            || ctx.push_to_head(public, payload),
            || ctx.remove_from_sorted_set(scheduled, job),
        )
    }
}
