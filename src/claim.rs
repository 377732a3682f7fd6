//! `WURK.CLAIM`: take the next job of several queues.

use crate::heartbeat::Heartbeat;
use crate::server::stats::{self, Counter};
use crate::server::{
    About, Access, Answer, Arg, Argument, Command, Ctx, Job, Keys, Kind, Outcome, Refusal, words,
};

/// `WURK.CLAIM processes identity public private [public private ...] info beat ttl`
///
/// Moves the tail of the first public list that holds a job to the head of the
/// private list beside it, and says that the calling process is alive.
///
/// - `processes`: the set of the identities of all processes.
/// - `identity`: the hash of the calling process.
/// - `public private`: a queue, and the caller's list of its jobs in flight;
///   looked at in the order given.
/// - `info`, `beat`: fields of the hash; `ttl`: how long it lives, in seconds.
///
/// Replies `[n, job]`, `n` being the 1-based number of the pair, or nil when
/// every public list is empty. Nothing has been written when an argument, the
/// set or the hash is refused; a list of another type is met on the way, after
/// the heartbeat and before any job has moved.
///
/// In the server's words: the heartbeat's, and `LMOVE public private RIGHT LEFT`.
pub(crate) struct Claim;

impl Command for Claim {
    const ABOUT: About = About {
        name: c"wurk.claim",
        flags: c"write",
        categories: c"write list slow",
        arity: -8,
        key_positions: (1, -4, 1),
        summary: c"Moves a job from the first public list that holds one to a private list, also at maxmemory.",
        complexity: c"O(N) where N is the number of public lists looked at.",
        keys: &[
            Keys::one(1, Access::Insert),
            Keys::one(2, Access::Update),
            Keys::to(3, -4, Access::Take),
        ],
        arguments: &[
            Argument::key(c"processes", 0),
            Argument::key(c"identity", 1),
            Argument::pairs(c"lists", &[(c"public", 2), (c"private", 2)]),
            Argument::string(c"info"),
            Argument::string(c"beat"),
            Argument::integer(c"ttl"),
        ],
    };

    const COUNTS: [&'static Counter; 2] = [&stats::CLAIMS, &stats::CLAIMS_EMPTY];

    fn run(ctx: &Ctx, args: &[Arg]) -> Outcome {
        let [_, args @ ..] = args else {
            return Err(Refusal::WrongArity);
        };
        let request = Request::read(args)?;
        request.heartbeat(ctx)?.write(ctx, request.beat)?;
        request.take(ctx, Stray::Refused)
    }
}

/// What becomes of a public key that holds something else than a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stray {
    /// The call is refused with `WRONGTYPE`.
    Refused,
    /// The next pair is tried: a client that waits has other queues.
    PassedOver,
}

/// What a client asks for, and says of itself.
pub(crate) struct Request<'a> {
    processes: Arg<'a>,
    identity: Arg<'a>,
    pairs: &'a [[Arg<'a>; 2]],
    info: Arg<'a>,
    pub(crate) beat: Arg<'a>,
    ttl: Arg<'a>,
}

impl<'a> Request<'a> {
    /// Reads the arguments behind the name. The arity has seen to it that there
    /// is a pair.
    pub(crate) fn read(args: &'a [Arg<'a>]) -> Result<Self, Refusal> {
        let [processes, identity, lists @ .., info, beat, ttl] = args else {
            return Err(Refusal::WrongArity);
        };
        let (pairs, []) = lists.as_chunks() else {
            return Err(Refusal::WrongArity);
        };
        Ok(Self {
            processes: *processes,
            identity: *identity,
            pairs,
            info: *info,
            beat: *beat,
            ttl: *ttl,
        })
    }

    /// The public lists, in order.
    pub(crate) fn publics(&self) -> impl ExactSizeIterator<Item = Arg<'a>> + use<'a> {
        self.pairs.iter().map(|[public, _]| *public)
    }

    /// Checks all that can be checked before the first write.
    pub(crate) fn heartbeat<'c>(&self, ctx: &'c Ctx) -> Result<Heartbeat<'a, 'c>, Refusal> {
        Heartbeat::checked(ctx, self.processes, self.identity, self.info, self.ttl)
    }

    /// Moves one job of the first pair whose public list holds one.
    pub(crate) fn take(&self, ctx: &Ctx, stray: Stray) -> Outcome {
        for (number, [public, private]) in (1..).zip(self.pairs) {
            // A look is cheaper than opening to write, and most lists of most
            // claims are empty. As in `LMOVE`, the private list is not so much
            // as looked at before the public one is found to be a list.
            match ctx.look(*public) {
                Kind::Absent => continue,
                Kind::List => {}
                _ if stray == Stray::PassedOver => continue,
                _ => return Err(Refusal::WrongType),
            }
            let job = if public.bytes() == private.bytes() {
                // One list turned round: two open keys must not be the same.
                let lists_and_ends = [*public, *private, words::right(), words::left()];
                let job = ctx.call(c"LMOVE", &lists_and_ends).ok()?;
                (!job.is_nil()).then_some(Job::Reply(job))
            } else {
                ctx.move_tail_to_head(*public, *private)?.map(Job::Text)
            };
            if let Some(job) = job {
                return Ok(Answer::Job { number, job });
            }
        }
        Ok(Answer::Nil)
    }
}
