//! Commands of the server, called from inside it.
//!
//! None of them is checked for memory, unless `M` asks for it: that is what the
//! module is for. The formats are those of `RM_Call`: `!` replicates the command,
//! `E` returns every error as a reply, `S` checks whether the server may be written
//! to, `C` the permissions of the user, `0` replies in the client's protocol, `s`
//! is a string, `v` a slice of strings.

use std::ffi::CStr;
use std::ptr::NonNull;

use redis_module::raw::{RedisModuleCallReply, RedisModuleString};

use super::api::api;
use super::arg::Arg;
use super::call_reply::CallReply;
use super::ctx::Ctx;
use super::error::{Error, Result};
use super::refusable::{self, Refusable, Refused};

/// A reply, or null if the server did not make one.
#[must_use]
pub(crate) struct CallResult(*mut RedisModuleCallReply);

impl CallResult {
    /// The reply, or the error that the server replied with.
    pub(crate) fn into_result(self) -> Result<CallReply> {
        let reply = NonNull::new(self.0).ok_or(Error::NoReply)?;
        // SAFETY: the reply was made for this call, and contexts of the module
        // do not free replies by themselves.
        let reply = unsafe { CallReply::new(reply) };
        if reply.is_error() {
            return Err(Error::Server(reply));
        }
        Ok(reply)
    }
}

/// A format of `RM_Call`: at most seven letters for how, four for arguments, and NUL.
fn format(modifiers: &CStr, arguments: &[u8]) -> [u8; 12] {
    let mut format = [0; 12];
    let letters = modifiers.to_bytes().iter().chain(arguments);
    for (place, letter) in format.iter_mut().zip(letters) {
        *place = *letter;
    }
    format
}

/// How 7.0 says that the user of an inner call has no permission.
const BEFORE_7_2: &[u8] = b"ERR acl verification failed, ";

/// The error in the words that the server has for a client's own command.
fn as_noperm(error: CallReply, command: &[Arg]) -> Error {
    let Some(why) = error.bytes().strip_prefix(BEFORE_7_2) else {
        return Error::Server(error);
    };
    if !why.starts_with(b"can't run this command") {
        return Error::MayNotAccess;
    }
    let mut name = command
        .first()
        .map_or(Vec::new(), |name| name.bytes().to_ascii_lowercase());
    if refusable::is_container(&name)
        && let Some(subcommand) = command.get(1)
    {
        name.push(b'|');
        name.extend(subcommand.bytes().to_ascii_lowercase());
    }
    Error::MayNotRun(name)
}

impl Ctx<'_> {
    /// Calls a command that writes.
    pub(crate) fn call_replicated(&self, command: &CStr, args: &[Arg]) -> CallResult {
        self.call_with(c"!E", command, args)
    }

    /// Calls a command that writes, for a client that has been woken: refused as
    /// the server would refuse it now, with `READONLY`, `MISCONF` or `NOREPLICAS`.
    pub(crate) fn call_replicated_if_writable(&self, command: &CStr, args: &[Arg]) -> CallResult {
        self.call_with(c"!ES", command, args)
    }

    /// Calls a command that only reads.
    pub(crate) fn call_readonly(&self, command: &CStr, args: &[Arg]) -> CallResult {
        self.call_with(c"E", command, args)
    }

    /// Runs a command as the user of this call, who needs all permissions for it,
    /// and replies in the client's protocol. If it is not `rescued`, it is refused
    /// on a full server.
    pub(crate) fn call_as_user(
        &self,
        command: &[Arg],
        refused: Refused,
        rescued: bool,
    ) -> Result<CallReply> {
        let Some((name, args)) = command.split_first() else {
            return Err(Error::WrongArity);
        };
        // `S` refuses what scripts may not call. Of those, the commands that run
        // scripts check by themselves whether they may write.
        if refused.noscript && refused.how != Refusable::Runs {
            self.check_writable()?;
        }
        let format = match (refused.noscript, rescued) {
            (false, true) => c"!EC0S",
            (false, false) => c"!EC0SM",
            (true, true) => c"!EC0",
            (true, false) => c"!EC0M",
        };
        match self.call_with(format, name.c_str(), args).into_result() {
            Err(Error::Server(error)) => Err(as_noperm(error, command)),
            result => result,
        }
    }

    /// Refused as the server refuses a write now, if it does. Found by a write that
    /// changes nothing, whatever the key holds.
    fn check_writable(&self) -> Result<()> {
        // SAFETY: the format names the arguments behind it.
        let reply = CallResult(unsafe {
            api!(RedisModule_Call(
                self.raw,
                c"ZREMRANGEBYRANK".as_ptr(),
                c"ESccc".as_ptr(),
                c"wurk".as_ptr(),
                c"1".as_ptr(),
                c"0".as_ptr(),
            ))
        });
        const REFUSALS: [&[u8]; 4] = [b"READONLY ", b"NOREPLICAS ", b"MISCONF ", b"MASTERDOWN "];
        match reply.into_result() {
            Err(Error::Server(error))
                if REFUSALS.iter().any(|code| error.bytes().starts_with(code)) =>
            {
                Err(Error::Server(error))
            }
            _ => Ok(()),
        }
    }

    /// Whether the server knows a command, found by calling it without arguments:
    /// every one that is asked for needs some.
    pub(super) fn command_exists(&self, command: &CStr) -> bool {
        match self.call_readonly(command, &[]).into_result() {
            Err(Error::Server(error)) => !error.bytes().starts_with(b"ERR unknown command"),
            _ => false,
        }
    }

    /// Calls a command by what stands in its format before the arguments.
    fn call_with(&self, modifiers: &CStr, command: &CStr, args: &[Arg]) -> CallResult {
        macro_rules! call {
            ($letters:literal, $($argument:expr),*) => {{
                let format = format(modifiers, $letters);
                api!(RedisModule_Call(self.raw, command.as_ptr(), format.as_ptr().cast(), $($argument),*))
            }};
        }
        // SAFETY: the format has an `s` for each string, or a `v`, which takes a
        // pointer to strings and how many there are; an `Arg` is a pointer to a
        // string. The server only reads them. For `v` it allocates twice, so that few
        // are named one by one.
        CallResult(unsafe {
            match *args {
                [a] => call!(b"s", a.pointer()),
                [a, b] => call!(b"ss", a.pointer(), b.pointer()),
                [a, b, c] => call!(b"sss", a.pointer(), b.pointer(), c.pointer()),
                [a, b, c, d] => call!(b"ssss", a.pointer(), b.pointer(), c.pointer(), d.pointer()),
                _ => call!(
                    b"v",
                    args.as_ptr().cast::<*mut RedisModuleString>(),
                    args.len()
                ),
            }
        })
    }

    /// `SET key value NX PX ttl`. The value goes in as text, so that the server
    /// can keep a small number as a shared object: no memory at all.
    pub(crate) fn set_if_absent(&self, key: Arg, value: &CStr, ttl: Arg) -> CallResult {
        // SAFETY: the format names the arguments behind it.
        CallResult(unsafe {
            api!(RedisModule_Call(
                self.raw,
                c"SET".as_ptr(),
                c"!Escccs".as_ptr(),
                key.pointer(),
                value.as_ptr(),
                c"NX".as_ptr(),
                c"PX".as_ptr(),
                ttl.pointer(),
            ))
        })
    }
}
