//! How a job leaves one key for a list, so that it is always in one of them.

use std::ffi::CStr;

use crate::server::{Arg, Ctx, Error, KeyType, Reply, Result};

/// A command of the server, and its arguments.
pub(crate) type Call<'a> = (&'static CStr, &'a [Arg<'a>]);

/// Pushes a job to the list `public`, and then removes it from the key that it is in.
///
/// Replies 1, or 0 if `find` finds no such job. Then nothing has been written, nor if
/// `public` is not a list, or the other key not of the type that `find` takes.
pub(crate) fn push_then_remove(
    ctx: &Ctx,
    public: Arg,
    find: Call,
    push: Call,
    remove: Call,
) -> Result<Reply> {
    if !matches!(ctx.key_type(public), KeyType::List | KeyType::Absent) {
        return Err(Error::WrongType);
    }
    if ctx.call_readonly(find.0, find.1).into_result()?.is_nil() {
        return Ok(Reply::Integer(0));
    }
    ctx.call_replicated(push.0, push.1).into_result()?;
    ctx.call_replicated(remove.0, remove.1).into_result()?;
    Ok(Reply::Integer(1))
}
