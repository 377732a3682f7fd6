//! How a claim says that its process is alive.
//!
//! A process's own heartbeat is an `HSET`, which a full server refuses. Without
//! it the hash of a living process lapses, other hosts take the jobs it is
//! running, and its supervisor sees it stand still: the claim writes it instead.

use crate::expiry;
use crate::server::{Arg, Ctx, Key, Kind, Refusal, words};

/// A heartbeat that nothing stands against: all checks are done.
pub(crate) struct Heartbeat<'a, 'c> {
    processes: Arg<'a>,
    identity: Arg<'a>,
    info: Arg<'a>,
    expires_at: i64,
    /// The open hash of a process that is known, which keeps its `info`.
    known: Option<Key<'c>>,
}

impl<'a, 'c> Heartbeat<'a, 'c> {
    /// Checks all that a heartbeat needs, and writes nothing: `ttl` in seconds,
    /// a set or nothing at `processes`, a hash or nothing at `identity`.
    pub(crate) fn checked(
        ctx: &'c Ctx,
        processes: Arg<'a>,
        identity: Arg<'a>,
        info: Arg<'a>,
        ttl: Arg<'a>,
    ) -> Result<Self, Refusal> {
        let ttl = ttl.integer().ok_or(Refusal::NotAnInteger)?;
        let expires_at = expiry::in_seconds(ttl, ctx.now()).ok_or(Refusal::InvalidExpire)?;
        let set = ctx.kind(processes);
        let hash = ctx.open(identity);
        let known = match hash.kind() {
            Kind::Hash => Some(hash),
            // Asked again as `TYPE` asks: a miss is told to who listens.
            Kind::Absent => {
                ctx.kind(identity);
                None
            }
            _ => return Err(Refusal::WrongType),
        };
        // One key cannot become both the hash and the set.
        let possible = known.is_some() || processes.bytes() != identity.bytes();
        if !possible || !matches!(set, Kind::Set | Kind::Absent) {
            return Err(Refusal::WrongType);
        }
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
    pub(crate) fn write(self, ctx: &Ctx, beat: Arg) -> Result<(), Refusal> {
        if self.known.is_none() {
            ctx.call(c"HSET", &[self.identity, words::info(), self.info])
                .ok()?;
            ctx.call(c"SADD", &[self.processes, self.identity]).ok()?;
        }
        let hash = self.known.unwrap_or_else(|| ctx.open(self.identity));
        ctx.set_field_and_expiry(hash, self.identity, words::beat(), beat, self.expires_at)
    }

    /// The same for a client that has been woken. What the server checked when the
    /// call arrived may no longer hold, so the first write is a command that it
    /// checks again; on 7.0 that one is replicated outside the transaction, so it
    /// is the only one: a member without its hash is a process that is dead, a hash
    /// that never expires would be one that never dies.
    pub(crate) fn write_on_waking(self, ctx: &Ctx, beat: Arg) -> Result<(), Refusal> {
        let Self { identity, .. } = self;
        if self.known.is_some() {
            drop(self.known);
            ctx.call_if_writable(c"HSET", &[identity, words::beat(), beat])
                .ok()?;
            ctx.expire_at(identity, self.expires_at);
            return Ok(());
        }
        ctx.call_if_writable(c"SADD", &[self.processes, identity])
            .ok()?;
        let hash = ctx.open(identity);
        ctx.set_field(hash, identity, words::info(), self.info)?;
        let hash = ctx.open(identity);
        ctx.set_field_and_expiry(hash, identity, words::beat(), beat, self.expires_at)
    }
}
