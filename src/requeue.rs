//! `WURK.REQUEUE`: return a job to its queue.

use crate::server::stats::{self, Counter};
use crate::server::{
    Arg, Argument, Command, CommandInfo, Ctx, Error, KeyFlags, KeySpec, Reply, Result,
    shared_strings,
};
use crate::transfer::push_then_remove;

/// `WURK.REQUEUE private public job`
///
/// Moves `job` from a private list to the tail of its public list, the end that is
/// claimed next.
///
/// Replies 1, or 0 if the job is no longer in the private list; then nothing has
/// been written. Nothing has been written either if one of the keys is not a list.
///
/// Equivalent to `RPUSH public job`, then `LREM private 1 job`: the job is in the
/// public list before it leaves the private one.
pub(crate) struct Requeue;

impl Command for Requeue {
    const INFO: CommandInfo = CommandInfo {
        name: c"wurk.requeue",
        flags: c"write",
        categories: c"write list slow",
        arity: 4,
        key_positions: (1, 2, 1),
        summary: c"Moves a job from a private list back to the public list it came from, also at maxmemory.",
        complexity: c"O(N) where N is the length of the private list.",
        keys: &[
            KeySpec::one(1, KeyFlags::AccessDelete),
            KeySpec::one(2, KeyFlags::Insert),
        ],
        arguments: &[
            Argument::key(c"private", 0),
            Argument::key(c"public", 1),
            Argument::string(c"job"),
        ],
    };

    const COUNTS: Option<[&'static Counter; 2]> = Some([&stats::REQUEUES, &stats::REQUEUES_MISSED]);

    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply> {
        let [_, private, public, job] = *args else {
            return Err(Error::WrongArity);
        };
        if ctx.requeue_head(private, public, job) {
            return Ok(Reply::Integer(1));
        }
        let one = shared_strings::one();
        let call = |name, args: &[Arg]| ctx.call_replicated(name, args).into_result().map(drop);
        push_then_remove(
            ctx,
            public,
            || {
                let place = ctx.call_readonly(c"LPOS", &[private, job]).into_result()?;
                Ok(!place.is_nil())
            },
            || call(c"RPUSH", &[public, job]),
            || call(c"LREM", &[private, one, job]),
        )
    }
}
