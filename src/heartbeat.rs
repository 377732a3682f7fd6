//! How a claim says that its process is alive.
//!
//! A process's own heartbeat is an `HSET`, which a full server refuses. Without
//! it the hash of a living process lapses, other hosts take the jobs it is
//! running, and its supervisor sees it stand still: the claim writes it instead.

use crate::expiry;
use crate::server::{Arg, Ctx, Kind, Refusal, words};

/// A heartbeat that nothing stands against: all checks are done.
pub(crate) struct Heartbeat<'a> {
    processes: Arg<'a>,
    identity: Arg<'a>,
    info: Arg<'a>,
    expires_at: i64,
    /// The hash stands already, and keeps its `info`.
    known: bool,
}

impl<'a> Heartbeat<'a> {
    /// Checks all that a heartbeat needs, and writes nothing: `ttl` in seconds,
    /// a set or nothing at `processes`, a hash or nothing at `identity`.
    pub(crate) fn checked(
        ctx: &Ctx,
        processes: Arg<'a>,
        identity: Arg<'a>,
        info: Arg<'a>,
        ttl: Arg<'a>,
    ) -> Result<Self, Refusal> {
        let ttl = ttl.integer().ok_or(Refusal::NotAnInteger)?;
        let expires_at = expiry::in_seconds(ttl, ctx.now()).ok_or(Refusal::InvalidExpire)?;
        let known = match (ctx.kind(processes), ctx.kind(identity)) {
            (Kind::Set | Kind::Absent, Kind::Hash) => true,
            // One key cannot become both the hash and the set.
            (Kind::Set | Kind::Absent, Kind::Absent) if processes.bytes() != identity.bytes() => {
                false
            }
            _ => return Err(Refusal::WrongType),
        };
        Ok(Self {
            processes,
            identity,
            info,
            expires_at,
            known,
        })
    }

    /// `HSET identity info <info>` and `SADD processes identity` for a process
    /// that is not known yet; for every one `HSET identity beat <beat>` and
    /// `EXPIRE identity <ttl>`.
    pub(crate) fn write(&self, ctx: &Ctx, beat: Arg) -> Result<(), Refusal> {
        if !self.known {
            ctx.call(c"HSET", &[self.identity, words::info(), self.info])
                .ok()?;
            ctx.call(c"SADD", &[self.processes, self.identity]).ok()?;
        }
        ctx.set_field_and_expiry(self.identity, words::beat(), beat, self.expires_at);
        Ok(())
    }
}
