//! `WURK.REQUEUE`: give a job back.

use crate::server::stats::{self, Counter};
use crate::server::{
    About, Access, Answer, Arg, Argument, Command, Ctx, Keys, Kind, Outcome, Refusal, words,
};

/// `WURK.REQUEUE private public job`
///
/// Moves `job` from a private list back to the end of its public list that is
/// claimed next.
///
/// Replies 1, or 0 when the job has left the private list since; then nothing
/// has been written, nor has it when either key is not a list.
///
/// In the server's words: `RPUSH public job`, then `LREM private 1 job`. A job
/// stands in the public list before it leaves the private one.
pub(crate) struct Requeue;

impl Command for Requeue {
    const ABOUT: About = About {
        name: c"wurk.requeue",
        flags: c"write",
        categories: c"write list slow",
        arity: 4,
        key_positions: (1, 2, 1),
        summary: c"Moves a job from a private list back to the public list it came from, also at maxmemory.",
        complexity: c"O(N) where N is the length of the private list.",
        keys: &[
            Keys::one(1, Access::Take),
            Keys::one(2, Access::Insert),
        ],
        arguments: &[
            Argument::key(c"private", 0),
            Argument::key(c"public", 1),
            Argument::string(c"job"),
        ],
    };

    const COUNTS: [&'static Counter; 2] = [&stats::REQUEUES, &stats::REQUEUES_MISSED];

    fn run(ctx: &Ctx, args: &[Arg]) -> Outcome {
        let [_, private, public, job] = args else {
            return Err(Refusal::WrongArity);
        };
        if !matches!(ctx.kind(*public), Kind::List | Kind::Absent) {
            return Err(Refusal::WrongType);
        }
        if ctx.ask(c"LPOS", &[*private, *job]).ok()?.is_nil() {
            return Ok(Answer::Integer(0));
        }
        ctx.call(c"RPUSH", &[*public, *job]).ok()?;
        ctx.call(c"LREM", &[*private, words::one(), *job]).ok()?;
        Ok(Answer::Integer(1))
    }
}
