//! How a job leaves one key for a list, so that it is always in one of them.

use crate::server::{Arg, Ctx, Error, KeyType, Reply, Result};

/// Pushes a job to the list `public`, and then removes it from the key that it is in.
///
/// Replies 1, or 0 if it is not in that key. Then nothing has been written, nor if
/// `public` is not a list, or the other key not of the type that holds jobs.
pub(crate) fn push_then_remove(
    ctx: &Ctx,
    public: Arg,
    is_there: impl FnOnce() -> Result<bool>,
    push: impl FnOnce() -> Result<()>,
    remove: impl FnOnce() -> Result<()>,
) -> Result<Reply> {
    if !matches!(ctx.key_type(public), KeyType::List | KeyType::Absent) {
        return Err(Error::WrongType);
    }
    if !is_there()? {
        return Ok(Reply::Integer(0));
    }
    push()?;
    remove()?;
    Ok(Reply::Integer(1))
}
