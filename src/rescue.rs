//! `WURK.RESCUE`: run a command of a worker that was not written for wurk.

use crate::server::{
    Arg, Argument, BlockingCommand, CallReply, Command, CommandInfo, Ctx, Error, Fullness, KeyType,
    Refusable, Refused, Reply, Result, stats,
};
use crate::timeout;

/// `WURK.RESCUE command [arg ...]`
///
/// Runs `command` as if the server were not full, if the user who sends it is
/// named in `wurk.rescue-users`; from other users it is answered as `command`
/// alone, with `OOM` on a full server. A filter puts it before the commands of
/// those users by itself.
///
/// Takes the commands that a full server may refuse: those with the `denyoom` flag,
/// and `EVAL`, `EVALSHA`, `FCALL`. Gives no permission: `command`, its keys and
/// what a script calls are checked for the user who sends it, and the keys of the
/// call are those of `command`.
///
/// Replies, data, events and replication are those of `command` alone on a server
/// that is not full. `BLMOVE` and `BRPOPLPUSH` wait. Past `wurk.rescue-limit` it is
/// refused with `OOM`, unless `command` only moves a value between lists, or is a
/// script that does not grow.
pub(crate) struct Rescue;

impl Command for Rescue {
    const INFO: CommandInfo = CommandInfo {
        name: c"wurk.rescue",
        flags: c"may-replicate allow-stale no-mandatory-keys getkeys-api deny-script",
        categories: c"write slow",
        arity: -2,
        key_positions: (0, 0, 0),
        summary:
            c"Runs a command as if the server were not full, for the users in wurk.rescue-users.",
        complexity: c"Depends on the command.",
        keys: &[],
        arguments: &[
            Argument::string(c"command"),
            Argument::optional_strings(c"arg"),
        ],
    };

    const NAMES_INNER_KEYS: bool = true;

    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply> {
        let [_, command @ ..] = args else {
            return Err(Error::WrongArity);
        };
        let refused = ctx.refused(command).ok_or(Error::NotRefusable)?;
        // A script inside a script would end the server. `deny-script` keeps
        // scripts out, this a module that a script has called.
        if refused.how == Refusable::Runs && ctx.is_in_script() {
            return Err(Error::NotRefusable);
        }
        let call = Call { refused, command };
        match call.run(ctx)? {
            nil if refused.how == Refusable::Waits && nil.is_nil() && ctx.can_block() => {
                call.block(ctx)
            }
            reply => Ok(Reply::Called(reply)),
        }
    }
}

impl BlockingCommand for Rescue {
    fn on_key_ready(ctx: &Ctx, args: &[Arg]) -> Option<Result<Reply>> {
        let [_, command @ ..] = args else {
            return Some(Err(Error::WrongArity));
        };
        // Another client was faster, or the key holds something else than a list.
        if ctx.peek_type(ctx.ready_key()?) != KeyType::List {
            return None;
        }
        // A module that was unloaded meanwhile took the command with it.
        let refused = ctx.refused(command)?;
        match (Call { refused, command }).run(ctx) {
            Ok(nil) if nil.is_nil() => None,
            reply => Some(reply.map(Reply::Called)),
        }
    }
}

/// A command on its way.
struct Call<'a> {
    refused: Refused,
    command: &'a [Arg<'a>],
}

impl Call<'_> {
    fn run(&self, ctx: &Ctx) -> Result<CallReply> {
        if !ctx.is_rescued() {
            return ctx.call_as_user(self.command, self.refused, false);
        }
        match (ctx.fullness(), self.refused.how) {
            (Fullness::PastRescueLimit, Refusable::Grows) => return refuse(),
            (Fullness::PastRescueLimit, Refusable::Runs) => return self.run_unless_it_grows(ctx),
            (Fullness::NotFull, _) => {}
            _ => {
                stats::RESCUES.add(1);
                stats::CALLS_AT_MAXMEMORY.add(1);
            }
        }
        ctx.call_as_user(self.command, self.refused, true)
    }

    /// Runs a script as for a user who is not named: one that reads or frees memory
    /// runs, one that grows is refused at its first write.
    fn run_unless_it_grows(&self, ctx: &Ctx) -> Result<CallReply> {
        match ctx.call_as_user(self.command, self.refused, false) {
            Err(Error::Server(error)) if error.is_oom() => refuse(),
            reply => reply,
        }
    }

    /// Blocks the client until its source key is created. The server has accepted
    /// the arguments.
    fn block(&self, ctx: &Ctx) -> Result<Reply> {
        let (Some(source), Some(timeout)) = (self.command.get(1), self.command.last()) else {
            return Err(Error::WrongArity);
        };
        let timeout = timeout::milliseconds(timeout.number(), ctx.now())?;
        Ok(ctx.block_on_keys::<Rescue>([*source].into_iter(), timeout))
    }
}

fn refuse() -> Result<CallReply> {
    stats::RESCUES_REFUSED.add(1);
    Err(Error::RescueLimit)
}
