//! Lines in the server's log.

use std::ffi::{CStr, CString};

use redis_module::raw::{self, RedisModuleCtx};

pub(super) const NOTICE: &CStr = c"notice";
pub(super) const WARNING: &CStr = c"warning";

/// Writes one line.
pub(super) fn write(ctx: *mut RedisModuleCtx, level: &CStr, line: &str) {
    // A NUL would end the line early.
    let line = CString::new(line.replace('\0', "\\0")).unwrap_or_default();
    // SAFETY: called in a valid context of the module. A null pointer is checked,
    // since this also runs before the others are. `%s` takes the one text behind
    // it.
    unsafe {
        if let Some(log) = raw::RedisModule_Log {
            log(ctx, level.as_ptr(), c"%s".as_ptr(), line.as_ptr());
        }
    }
}
