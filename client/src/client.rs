//! [`Wurk`], which makes the calls.

use std::sync::Arc;
use std::time::Duration;

use redis::RedisError;

use crate::cache::Cache;

/// How long one `WURK.BCLAIM` blocks by default.
const BLOCK_TIMEOUT: Duration = Duration::from_millis(250);

/// Makes the calls of this crate, over connections that the caller brings.
///
/// It holds no connection: only which strategy works on its server, so create one
/// for each server or cluster and share it by reference; a clone is cheap and
/// shares what is known. That is found out again after a minute, a lost connection
/// or a failover. There is no lock, and a call costs one reading of the clock.
///
/// A call whose reply was lost is not sent again. A cluster connection of the
/// `redis` crate does that by itself unless it is built with `retries(0)`: of a
/// claim that ran twice, the first job stays in the private list.
#[derive(Clone, Debug)]
pub struct Wurk {
    cache: Arc<Cache>,
    block_timeout: Duration,
    /// The error that made the caller fall back.
    original_error: Option<RedisError>,
}

impl Default for Wurk {
    fn default() -> Self {
        Self::new()
    }
}

impl Wurk {
    /// For a server of which nothing is known yet; the first call finds out.
    #[must_use]
    pub fn new() -> Self {
        Self {
            cache: Arc::new(Cache::new()),
            block_timeout: BLOCK_TIMEOUT,
            original_error: None,
        }
    }

    /// Sets the longest time that one `WURK.BCLAIM` may block its connection, in
    /// whole milliseconds; 250 ms by default. It blocks for no longer than a third
    /// of the heartbeat's `ttl` in any case, since no heartbeat is written
    /// meanwhile.
    ///
    /// Keep it below the time after which the connection gives up on a reply: a
    /// reply that comes later is lost, with the job in the private list. The
    /// `redis` crate's asynchronous connections wait 500 ms by default; if yours
    /// has no such limit, a longer time saves idle traffic.
    #[must_use]
    pub fn with_block_timeout(self, block_timeout: Duration) -> Self {
        Self {
            block_timeout,
            ..self
        }
    }

    /// A clone whose calls return `oom`, unchanged, if neither the module nor a
    /// script is available: exactly the error that the caller would have had
    /// without this crate. Other calls return the server's last error then.
    ///
    /// [`query_or`](Self::query_or) does this by itself.
    #[must_use]
    pub fn or_else_oom(&self, oom: RedisError) -> Self {
        Self {
            original_error: Some(oom),
            ..self.clone()
        }
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    pub(crate) fn block_timeout(&self) -> Duration {
        self.block_timeout
    }

    pub(crate) fn original_error(&self) -> Option<RedisError> {
        self.original_error.clone()
    }
}
