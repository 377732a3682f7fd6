//! What a command answers, and how it reaches the client.

use std::ffi::{CStr, CString};

use super::api::api;
use super::arg::Text;
use super::call::Reply;
use super::{About, Ctx};

/// What a command returns.
pub(crate) type Outcome = Result<Answer, Refusal>;

/// A reply.
pub(crate) enum Answer {
    Nil,
    /// The status `OK`.
    Ok,
    Integer(i64),
    /// `[number, job]`.
    Job {
        number: i64,
        job: Job,
    },
    /// Nothing yet: the client waits.
    Waiting,
}

/// A job, as it came out of the server.
pub(crate) enum Job {
    Text(Text),
    Reply(Reply),
}

/// An error reply.
pub(crate) enum Refusal {
    WrongArity,
    NotAnInteger,
    InvalidExpire,
    WrongType,
    ReadOnly,
    GrowthLimit,
    TimeoutNotAFloat,
    TimeoutNegative,
    TimeoutOutOfRange,
    /// What a command of the server's own was refused with.
    Server(Reply),
    /// The server would not run a command of its own and said nothing.
    NoReply,
}

const NOT_AN_INTEGER: &CStr = c"ERR value is not an integer or out of range";
const WRONG_TYPE: &CStr = c"WRONGTYPE Operation against a key holding the wrong kind of value";
const READ_ONLY: &CStr = c"READONLY You can't write against a read only replica.";
const GROWTH_LIMIT: &CStr =
    c"OOM command not allowed when used memory > 'maxmemory' + 'wurk.growth-limit' percent.";
const TIMEOUT_NOT_A_FLOAT: &CStr = c"ERR timeout is not a float or out of range";
const TIMEOUT_NEGATIVE: &CStr = c"ERR timeout is negative";
const TIMEOUT_OUT_OF_RANGE: &CStr = c"ERR timeout is out of range";
const NO_REPLY: &CStr =
    c"ERR the server refused a command that wurk needs, see its log and 'rename-command'";

impl Ctx<'_> {
    /// Sends what came out to the client.
    pub(super) fn send(&self, about: &About, outcome: Outcome) {
        match outcome {
            Ok(answer) => self.send_answer(answer),
            Err(refusal) => self.send_refusal(about, refusal),
        }
    }

    fn send_answer(&self, answer: Answer) {
        // SAFETY: the context is that of this call. A reply that is passed on
        // reads the same in RESP2 and RESP3: it is a string or an error, never
        // a nil.
        unsafe {
            match answer {
                Answer::Waiting => 0,
                Answer::Nil => api!(RedisModule_ReplyWithNull(self.raw)),
                Answer::Ok => api!(RedisModule_ReplyWithSimpleString(self.raw, c"OK".as_ptr())),
                Answer::Integer(n) => api!(RedisModule_ReplyWithLongLong(self.raw, n)),
                Answer::Job { number, job } => {
                    api!(RedisModule_ReplyWithArray(self.raw, 2));
                    api!(RedisModule_ReplyWithLongLong(self.raw, number));
                    match job {
                        Job::Text(text) => {
                            api!(RedisModule_ReplyWithString(self.raw, text.arg().pointer()))
                        }
                        Job::Reply(reply) => {
                            api!(RedisModule_ReplyWithCallReply(self.raw, reply.pointer()))
                        }
                    }
                }
            };
        }
    }

    fn send_refusal(&self, about: &About, refusal: Refusal) {
        // SAFETY: as in `send_answer`; the texts end in NUL and are copied.
        unsafe {
            match refusal {
                Refusal::WrongArity => api!(RedisModule_WrongArity(self.raw)),
                Refusal::Server(error) => {
                    api!(RedisModule_ReplyWithCallReply(self.raw, error.pointer()))
                }
                Refusal::NotAnInteger => self.send_error(NOT_AN_INTEGER),
                Refusal::WrongType => self.send_error(WRONG_TYPE),
                Refusal::ReadOnly => self.send_error(READ_ONLY),
                Refusal::GrowthLimit => self.send_error(GROWTH_LIMIT),
                Refusal::TimeoutNotAFloat => self.send_error(TIMEOUT_NOT_A_FLOAT),
                Refusal::TimeoutNegative => self.send_error(TIMEOUT_NEGATIVE),
                Refusal::TimeoutOutOfRange => self.send_error(TIMEOUT_OUT_OF_RANGE),
                Refusal::NoReply => self.send_error(NO_REPLY),
                Refusal::InvalidExpire => {
                    let name = about.name.to_string_lossy();
                    let text = format!("ERR invalid expire time in '{name}' command");
                    self.send_error(&CString::new(text).unwrap_or_default())
                }
            };
        }
    }

    unsafe fn send_error(&self, text: &CStr) -> i32 {
        // SAFETY: as the caller says.
        unsafe { api!(RedisModule_ReplyWithError(self.raw, text.as_ptr())) }
    }
}
