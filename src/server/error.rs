//! Error replies, in the server's own words where it has them.

use std::ffi::{CStr, CString};

use super::api::api;
use super::call_reply::CallReply;
use super::ctx::Ctx;

/// What a command or a part of one returns.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// An error reply.
pub(crate) enum Error {
    WrongArity,
    NotAnInteger,
    /// A time to live that no expiry holds.
    InvalidExpire,
    WrongType,
    ReadOnly,
    GrowthLimit,
    RescueLimit,
    /// The user may not run this command, on a server that does not say so in the
    /// words of its own commands.
    MayNotRun(Vec<u8>),
    /// The user may not access a key, on such a server.
    MayNotAccess,
    /// `WURK.RESCUE` of a command that no full server refuses.
    NotRefusable,
    TimeoutNotAFloat,
    TimeoutNegative,
    TimeoutOutOfRange,
    /// The error reply to a command of the server, as it is.
    Server(CallReply),
    /// A command of the server returned no reply at all.
    NoReply,
}

const NOT_AN_INTEGER: &CStr = c"ERR value is not an integer or out of range";
const WRONG_TYPE: &CStr = c"WRONGTYPE Operation against a key holding the wrong kind of value";
const READ_ONLY: &CStr = c"READONLY You can't write against a read only replica.";
const GROWTH_LIMIT: &CStr =
    c"OOM command not allowed when used memory > 'maxmemory' + 'wurk.growth-limit' percent.";
const RESCUE_LIMIT: &CStr =
    c"OOM command not allowed when used memory > 'maxmemory' + 'wurk.rescue-limit' percent.";
const NOT_REFUSABLE: &CStr = c"ERR WURK.RESCUE takes what a full server may refuse: commands with the denyoom flag, EVAL, EVALSHA and FCALL";
const MAY_NOT_ACCESS: &CStr =
    c"NOPERM this user has no permissions to access one of the keys used as arguments";
const TIMEOUT_NOT_A_FLOAT: &CStr = c"ERR timeout is not a float or out of range";
const TIMEOUT_NEGATIVE: &CStr = c"ERR timeout is negative";
const TIMEOUT_OUT_OF_RANGE: &CStr = c"ERR timeout is out of range";
const NO_REPLY: &CStr =
    c"ERR internal command call failed; check the server log and 'rename-command'";

impl Ctx<'_> {
    /// Replies with an error to the command of this name.
    pub(super) fn send_error(&self, command: &CStr, error: Error) {
        let text = match error {
            Error::WrongArity => {
                // SAFETY: the context is that of this call.
                unsafe { api!(RedisModule_WrongArity(self.raw)) };
                return;
            }
            Error::Server(reply) => {
                // SAFETY: as above; an error reads the same in RESP2 and RESP3.
                unsafe { api!(RedisModule_ReplyWithCallReply(self.raw, reply.pointer())) };
                return;
            }
            Error::InvalidExpire => {
                let name = command.to_string_lossy();
                let text = format!("ERR invalid expire time in '{name}' command");
                self.send_text(&CString::new(text).unwrap_or_default());
                return;
            }
            Error::MayNotRun(name) => {
                let name = String::from_utf8_lossy(&name);
                let text =
                    format!("NOPERM this user has no permissions to run the '{name}' command");
                self.send_text(&CString::new(text).unwrap_or_default());
                return;
            }
            Error::MayNotAccess => MAY_NOT_ACCESS,
            Error::NotAnInteger => NOT_AN_INTEGER,
            Error::WrongType => WRONG_TYPE,
            Error::ReadOnly => READ_ONLY,
            Error::GrowthLimit => GROWTH_LIMIT,
            Error::RescueLimit => RESCUE_LIMIT,
            Error::NotRefusable => NOT_REFUSABLE,
            Error::TimeoutNotAFloat => TIMEOUT_NOT_A_FLOAT,
            Error::TimeoutNegative => TIMEOUT_NEGATIVE,
            Error::TimeoutOutOfRange => TIMEOUT_OUT_OF_RANGE,
            Error::NoReply => NO_REPLY,
        };
        self.send_text(text);
    }

    fn send_text(&self, text: &CStr) {
        // SAFETY: the context is that of this call; the text ends in NUL and is
        // copied.
        unsafe { api!(RedisModule_ReplyWithError(self.raw, text.as_ptr())) };
    }
}
