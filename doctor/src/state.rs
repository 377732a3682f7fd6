//! Server states that refuse every command, or every write, whoever sends it.

use redis::RedisError;

/// The error codes of such states.
const STATES: [&str; 7] = [
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "NOREPLICAS",
    "READONLY",
];

/// How the server takes writes, full or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    Taken,
    /// Every write is refused because of the server's state.
    Refused {
        code: String,
        text: String,
    },
    /// Reads are answered, writes time out.
    TimedOut,
}

impl Writes {
    /// Refused with `error`.
    pub(crate) fn refused(error: &RedisError) -> Self {
        Self::Refused {
            code: code(error),
            text: text(error),
        }
    }
}

/// Whether `error` comes from the server's state.
pub(crate) fn is_state(error: &RedisError) -> bool {
    error.code().is_some_and(|code| STATES.contains(&code))
}

/// The error's code.
pub(crate) fn code(error: &RedisError) -> String {
    error.code().unwrap_or("").to_owned()
}

/// The error as the server sent it.
pub(crate) fn text(error: &RedisError) -> String {
    format!("{} {}", code(error), error.detail().unwrap_or(""))
}

/// Whether the connection can no longer be used.
pub(crate) fn is_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_timeout()
}
