//! `WURK.BCLAIM`: wait for the next job of several queues.

use crate::claim::{Request, Stray};
use crate::server::stats::{self, Counter};
use crate::server::{
    About, Access, Answer, Arg, Argument, Command, Ctx, Keys, Kind, Outcome, Refusal, Waits,
};
use crate::timeout;

/// `WURK.BCLAIM processes identity public private [public private ...] info beat ttl timeout`
///
/// As `WURK.CLAIM`, but waits up to `timeout` seconds (a decimal, 0 = for ever)
/// until one of the public lists holds a job. Inside `MULTI` or a script it
/// never waits and replies as `WURK.CLAIM` would.
///
/// When a job has come it looks at all its lists in the given order, says again
/// that the process is alive, with the server's clock as `beat`, and moves one
/// job. One that somebody else has taken in that moment leaves it waiting, and so
/// does a public key that has become something else than a list meanwhile: as
/// `BLMOVE` does, it waits for a list.
///
/// The heartbeat is written when the call arrives and when a job wakes it, not in
/// between: keep `timeout` to a part of `ttl`, or the process is taken for dead
/// while it waits and its other jobs are requeued.
///
/// In the server's words: those of `WURK.CLAIM`, and the time-out, `CLIENT
/// UNBLOCK` and a change of role answer as they do for `BLMOVE`.
pub(crate) struct Bclaim;

impl Command for Bclaim {
    const ABOUT: About = About {
        name: c"wurk.bclaim",
        flags: c"write blocking",
        categories: c"write list slow blocking",
        arity: -9,
        key_positions: (1, -5, 1),
        summary: c"Moves a job from the first public list that holds one to a private list, or waits for one, also at maxmemory.",
        complexity: c"O(N) where N is the number of public lists.",
        keys: &[
            Keys::one(1, Access::Insert),
            Keys::one(2, Access::Update),
            Keys::to(3, -5, Access::Take),
        ],
        arguments: &[
            Argument::key(c"processes", 0),
            Argument::key(c"identity", 1),
            Argument::pairs(c"lists", &[(c"public", 2), (c"private", 2)]),
            Argument::string(c"info"),
            Argument::string(c"beat"),
            Argument::integer(c"ttl"),
            Argument::double(c"timeout"),
        ],
    };

    const COUNTS: [&'static Counter; 2] = [&stats::CLAIMS, &stats::CLAIMS_EMPTY];

    fn run(ctx: &Ctx, args: &[Arg]) -> Outcome {
        let [_, args @ .., timeout] = args else {
            return Err(Refusal::WrongArity);
        };
        let request = Request::read(args)?;
        let heartbeat = request.heartbeat(ctx)?;
        let timeout = timeout::milliseconds(timeout.number(), ctx.now())?;
        heartbeat.write(ctx, request.beat)?;
        match request.take(ctx, Stray::Refused)? {
            Answer::Nil if ctx.may_wait() => Ok(ctx.wait::<Self>(request.publics(), timeout)),
            answer => Ok(answer),
        }
    }
}

impl Waits for Bclaim {
    fn woken(ctx: &Ctx, args: &[Arg]) -> Option<Outcome> {
        let [_, args @ .., _timeout] = args else {
            return Some(Err(Refusal::WrongArity));
        };
        // The key that woke it first: where many wait for one list, the job is
        // gone for all but one, and they need not look at the rest. Something
        // else than a list wakes too, and is not what the client waits for.
        if ctx.look(ctx.ready_key()?) != Kind::List {
            return None;
        }
        if ctx.is_read_only() {
            return Some(Err(Refusal::ReadOnly));
        }
        Some(Request::read(args).and_then(|request| {
            let beat = ctx.clock();
            request.heartbeat(ctx)?.write_on_waking(ctx, beat.arg())?;
            request.take(ctx, Stray::PassedOver)
        }))
    }
}
