//! `WURK.BEAT`: write the heartbeat of a process.

use crate::heartbeat::Heartbeat;
use crate::server::stats::{self, Counter};
use crate::server::{
    Arg, Argument, Command, CommandInfo, Ctx, Error, KeyFlags, KeySpec, Reply, Result,
};

/// `WURK.BEAT processes identity info beat ttl`
///
/// Writes the heartbeat of the calling process, as [`WURK.CLAIM`](crate::claim::Claim)
/// does, for one that has no thread free to claim.
///
/// Replies `OK`. If an argument, the set or the hash is refused, nothing has been
/// written.
///
/// Equivalent to `HSET identity info` and `SADD processes identity` if there is no
/// hash, `HSET identity beat` and `EXPIRE identity ttl`.
pub(crate) struct Beat;

impl Command for Beat {
    const INFO: CommandInfo = CommandInfo {
        name: c"wurk.beat",
        flags: c"write fast",
        categories: c"write hash fast",
        arity: 6,
        key_positions: (1, 2, 1),
        summary: c"Writes the heartbeat of a process, also at maxmemory.",
        complexity: c"O(1)",
        keys: &[
            KeySpec::one(1, KeyFlags::Insert),
            KeySpec::one(2, KeyFlags::Update),
        ],
        arguments: &[
            Argument::key(c"processes", 0),
            Argument::key(c"identity", 1),
            Argument::string(c"info"),
            Argument::string(c"beat"),
            Argument::integer(c"ttl"),
        ],
    };

    const COUNTS: Option<[&'static Counter; 2]> = Some([&stats::BEATS, &stats::BEATS]);

    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply> {
        let [_, processes, identity, info, beat, ttl] = *args else {
            return Err(Error::WrongArity);
        };
        Heartbeat::validate(ctx, processes, identity, info, ttl)?.write(ctx, beat)?;
        Ok(Reply::Ok)
    }
}
