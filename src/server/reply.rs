//! Replies, and how they reach the client.

use std::ffi::CStr;

use super::api::api;
use super::arg::OwnedString;
use super::call_reply::CallReply;
use super::ctx::Ctx;
use super::error::Result;

/// A reply.
pub(crate) enum Reply {
    Nil,
    /// The status `OK`.
    Ok,
    Integer(i64),
    /// `[number, job]`.
    Job {
        number: i64,
        job: Job,
    },
    /// The reply of a command of the server, in the client's own protocol.
    Called(CallReply),
    /// None yet: the client is blocked.
    Blocked,
}

/// A job, as the server returned it.
pub(crate) enum Job {
    Popped(OwnedString),
    Called(CallReply),
}

impl Ctx<'_> {
    /// Replies to the command of this name.
    pub(super) fn send(&self, command: &CStr, result: Result<Reply>) {
        match result {
            Ok(reply) => self.send_reply(reply),
            Err(error) => self.send_error(command, error),
        }
    }

    fn send_reply(&self, reply: Reply) {
        // SAFETY: the context is that of this call. A job that is passed on reads
        // the same in RESP2 and RESP3: it is a string, never a nil.
        unsafe {
            match reply {
                Reply::Blocked => 0,
                Reply::Nil => api!(RedisModule_ReplyWithNull(self.raw)),
                Reply::Ok => api!(RedisModule_ReplyWithSimpleString(self.raw, c"OK".as_ptr())),
                Reply::Called(reply) => {
                    api!(RedisModule_ReplyWithCallReply(self.raw, reply.pointer()))
                }
                Reply::Integer(n) => api!(RedisModule_ReplyWithLongLong(self.raw, n)),
                Reply::Job { number, job } => {
                    api!(RedisModule_ReplyWithArray(self.raw, 2));
                    api!(RedisModule_ReplyWithLongLong(self.raw, number));
                    match job {
                        Job::Popped(job) => {
                            api!(RedisModule_ReplyWithString(self.raw, job.arg().pointer()))
                        }
                        Job::Called(job) => {
                            api!(RedisModule_ReplyWithCallReply(self.raw, job.pointer()))
                        }
                    }
                }
            };
        }
    }
}
