//! The heartbeat that a claim writes for its process.
//!
//! A process's own heartbeat is an `HSET`, which a full server refuses. Without
//! it the hash of a living process expires, the reapers of other hosts requeue
//! the jobs it is running, and its supervisor takes it for hung.

use crate::expiry;
use crate::server::{Arg, Ctx, Error, Key, KeyType, Result, shared_strings};

/// A validated heartbeat.
pub(crate) struct Heartbeat<'a, 'c> {
    processes: Arg<'a>,
    identity: Arg<'a>,
    info: Arg<'a>,
    expires_at: i64,
    /// The open hash of a known process, which keeps its `info`.
    known: Option<Key<'c>>,
}

impl<'a, 'c> Heartbeat<'a, 'c> {
    /// Checks the arguments and keys, and writes nothing: `ttl` is in seconds,
    /// `processes` a set or absent, `identity` a hash or absent.
    pub(crate) fn validate(
        ctx: &'c Ctx,
        processes: Arg<'a>,
        identity: Arg<'a>,
        info: Arg<'a>,
        ttl: Arg<'a>,
    ) -> Result<Self> {
        let ttl = ttl.integer().ok_or(Error::NotAnInteger)?;
        let expires_at = expiry::in_seconds(ttl, ctx.now()).ok_or(Error::InvalidExpire)?;
        let set = ctx.key_type(processes);
        let hash = ctx.open_for_writing(identity);
        let known = match hash.key_type() {
            KeyType::Hash => Some(hash),
            // Read as `TYPE` reads it: a miss notifies.
            KeyType::Absent => {
                ctx.key_type(identity);
                None
            }
            _ => return Err(Error::WrongType),
        };
        // One key cannot become both the hash and the set.
        let possible = known.is_some() || processes.bytes() != identity.bytes();
        if !possible || !matches!(set, KeyType::Set | KeyType::Absent) {
            return Err(Error::WrongType);
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
    pub(crate) fn write(self, ctx: &Ctx, beat: Arg) -> Result<()> {
        if self.known.is_none() {
            ctx.call_replicated(c"HSET", &[self.identity, shared_strings::info(), self.info])
                .into_result()?;
            ctx.call_replicated(c"SADD", &[self.processes, self.identity])
                .into_result()?;
        }
        let hash = self
            .known
            .unwrap_or_else(|| ctx.open_for_writing(self.identity));
        ctx.set_field_and_expiry(
            hash,
            self.identity,
            shared_strings::beat(),
            beat,
            self.expires_at,
        )
    }

    /// The same for a client that has been woken. What the server checked when the
    /// call arrived may no longer hold, so the first write is a command that it
    /// checks again; on 7.0 that one is replicated outside the transaction, so it
    /// is the only one: a member without its hash is a process that is dead, a hash
    /// that never expires would be one that never dies.
    pub(crate) fn write_on_waking(self, ctx: &Ctx, beat: Arg) -> Result<()> {
        let Self { identity, .. } = self;
        if self.known.is_some() {
            drop(self.known);
            ctx.call_replicated_if_writable(c"HSET", &[identity, shared_strings::beat(), beat])
                .into_result()?;
            ctx.expire_at(identity, self.expires_at);
            return Ok(());
        }
        ctx.call_replicated_if_writable(c"SADD", &[self.processes, identity])
            .into_result()?;
        let hash = ctx.open_for_writing(identity);
        ctx.set_field(hash, identity, shared_strings::info(), self.info)?;
        let hash = ctx.open_for_writing(identity);
        ctx.set_field_and_expiry(
            hash,
            identity,
            shared_strings::beat(),
            beat,
            self.expires_at,
        )
    }
}
