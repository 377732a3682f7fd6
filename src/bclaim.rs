//! `WURK.BCLAIM`: wait for the next job of several queues.

use crate::claim::{Request, StrayKey};
use crate::server::stats::{self, Counter};
use crate::server::{
    Arg, Argument, BlockingCommand, Command, CommandInfo, Ctx, Error, KeyFlags, KeySpec, KeyType,
    Reply, Result,
};
use crate::timeout;

/// `WURK.BCLAIM processes identity public private [public private ...] info beat ttl timeout`
///
/// `WURK.CLAIM` that waits up to `timeout` seconds (a decimal; 0 waits
/// indefinitely) for a job in one of the public lists. Inside `MULTI` or a script
/// it never waits and replies as `WURK.CLAIM`.
///
/// Clients are served FIFO. A client that is woken looks at all its lists in the
/// given order, writes the heartbeat with the server's clock as `beat`, and takes
/// one job. If another client was faster, it stays blocked; so it does if a public
/// key has become something else than a list, as with `BLMOVE`. If the server may
/// not be written to by then, the reply is its error and the job stays.
///
/// The heartbeat is written when the call arrives and on waking, not in between:
/// keep `timeout` to a third of `ttl` or less, or the process is taken for dead
/// while it waits and its other jobs are requeued.
///
/// A timeout, `CLIENT UNBLOCK` and a role change are answered as for `BLMOVE`.
pub(crate) struct Bclaim;

impl Command for Bclaim {
    const INFO: CommandInfo = CommandInfo {
        name: c"wurk.bclaim",
        flags: c"write blocking",
        categories: c"write list slow blocking",
        arity: -9,
        key_positions: (1, -5, 1),
        summary: c"Moves a job from the first public list that holds one to a private list, or waits for one, also at maxmemory.",
        complexity: c"O(N) where N is the number of public lists.",
        keys: &[
            KeySpec::one(1, KeyFlags::Insert),
            KeySpec::one(2, KeyFlags::Update),
            KeySpec::to(3, -5, KeyFlags::AccessDelete),
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

    const COUNTS: Option<[&'static Counter; 2]> = Some([&stats::CLAIMS, &stats::CLAIMS_EMPTY]);

    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply> {
        let [_, args @ .., timeout] = args else {
            return Err(Error::WrongArity);
        };
        let request = Request::read(args)?;
        let heartbeat = request.heartbeat(ctx)?;
        let timeout = timeout::milliseconds(timeout.number(), ctx.now())?;
        heartbeat.write(ctx, request.beat)?;
        match request.take(ctx, StrayKey::Refuse)? {
            Reply::Nil if ctx.can_block() => {
                Ok(ctx.block_on_keys::<Self>(request.publics(), timeout))
            }
            answer => Ok(answer),
        }
    }
}

impl BlockingCommand for Bclaim {
    fn on_key_ready(ctx: &Ctx, args: &[Arg]) -> Option<Result<Reply>> {
        let [_, args @ .., _timeout] = args else {
            return Some(Err(Error::WrongArity));
        };
        // First the key that woke it: of many clients that wait for one list all
        // but one find it gone, and need not look at their other lists. A value of
        // another type wakes too, and is not what the client waits for.
        if ctx.peek_type(ctx.ready_key()?) != KeyType::List {
            return None;
        }
        if ctx.is_read_only() {
            return Some(Err(Error::ReadOnly));
        }
        Some(Request::read(args).and_then(|request| {
            let beat = ctx.clock();
            request.heartbeat(ctx)?.write_on_waking(ctx, beat.arg())?;
            request.take(ctx, StrayKey::Skip)
        }))
    }
}
