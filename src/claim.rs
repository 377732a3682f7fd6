//! `WURK.CLAIM`: take the next job of several queues.

use crate::heartbeat::Heartbeat;
use crate::server::stats::{self, Counter};
use crate::server::{
    Arg, Argument, Command, CommandInfo, Ctx, Error, Job, KeyFlags, KeySpec, KeyType, Reply,
    Result, shared_strings,
};

/// `WURK.CLAIM processes identity public private [public private ...] info beat ttl`
///
/// Moves the tail of the first public list that holds a job to the head of the
/// private list beside it, and writes the heartbeat of the calling process.
///
/// - `processes`: the set of the identities of all processes.
/// - `identity`: the hash of the calling process.
/// - `public private`: a queue, and the caller's list of its jobs in flight; in
///   order of preference.
/// - `info`, `beat`: fields of the hash; `ttl`: its time to live, in seconds.
///
/// Replies `[n, job]`, `n` being the 1-based number of the pair, or nil if every
/// public list is empty. If an argument, the set or the hash is refused, nothing
/// has been written. If a listed key is not a list the reply is `WRONGTYPE`: the
/// heartbeat has been written, no job has moved.
///
/// Equivalent to `HSET`, `SADD` and `EXPIRE` for the heartbeat, and `LMOVE public
/// private RIGHT LEFT`.
pub(crate) struct Claim;

impl Command for Claim {
    const INFO: CommandInfo = CommandInfo {
        name: c"wurk.claim",
        flags: c"write",
        categories: c"write list slow",
        arity: -8,
        key_positions: (1, -4, 1),
        summary: c"Moves a job from the first public list that holds one to a private list, also at maxmemory.",
        complexity: c"O(N) where N is the number of public lists looked at.",
        keys: &[
            KeySpec::one(1, KeyFlags::Insert),
            KeySpec::one(2, KeyFlags::Update),
            KeySpec::to(3, -4, KeyFlags::AccessDelete),
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

    const COUNTS: Option<[&'static Counter; 2]> = Some([&stats::CLAIMS, &stats::CLAIMS_EMPTY]);

    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply> {
        let [_, args @ ..] = args else {
            return Err(Error::WrongArity);
        };
        let request = Request::read(args)?;
        request.heartbeat(ctx)?.write(ctx, request.beat)?;
        request.take(ctx, StrayKey::Refuse)
    }
}

/// What to do with a public key that holds something else than a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StrayKey {
    /// Reply with `WRONGTYPE`.
    Refuse,
    /// Try the next pair: a client that waits has other queues.
    Skip,
}

/// The arguments of a claim.
pub(crate) struct Request<'a> {
    processes: Arg<'a>,
    identity: Arg<'a>,
    pairs: &'a [[Arg<'a>; 2]],
    info: Arg<'a>,
    pub(crate) beat: Arg<'a>,
    ttl: Arg<'a>,
}

impl<'a> Request<'a> {
    /// Reads the arguments after the command's name. The arity guarantees a pair.
    pub(crate) fn read(args: &'a [Arg<'a>]) -> Result<Self> {
        let [processes, identity, lists @ .., info, beat, ttl] = args else {
            return Err(Error::WrongArity);
        };
        let (pairs, []) = lists.as_chunks() else {
            return Err(Error::WrongArity);
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

    /// Checks everything that can be checked before the first write.
    pub(crate) fn heartbeat<'c>(&self, ctx: &'c Ctx) -> Result<Heartbeat<'a, 'c>> {
        Heartbeat::validate(ctx, self.processes, self.identity, self.info, self.ttl)
    }

    /// Moves one job of the first pair whose public list holds one.
    pub(crate) fn take(&self, ctx: &Ctx, stray: StrayKey) -> Result<Reply> {
        for (number, [public, private]) in (1..).zip(self.pairs) {
            // Peeking is cheaper than opening for writing, and most lists of most
            // claims are empty. As in `LMOVE`, the private list is not touched
            // before the public one is found to be a list.
            match ctx.peek_type(*public) {
                KeyType::Absent => continue,
                KeyType::List => {}
                _ if stray == StrayKey::Skip => continue,
                _ => return Err(Error::WrongType),
            }
            let job = if public.bytes() == private.bytes() {
                // One list turned round: two open keys must not be the same.
                let lists_and_ends = [
                    *public,
                    *private,
                    shared_strings::right(),
                    shared_strings::left(),
                ];
                let job = ctx
                    .call_replicated(c"LMOVE", &lists_and_ends)
                    .into_result()?;
                (!job.is_nil()).then_some(Job::Called(job))
            } else {
                ctx.move_tail_to_head(*public, *private)?.map(Job::Popped)
            };
            if let Some(job) = job {
                return Ok(Reply::Job { number, job });
            }
        }
        Ok(Reply::Nil)
    }
}
