//! Fields of the server's `INFO`.

use std::ffi::{CStr, CString};

use redis_module::raw::RedisModuleCtx;

use super::api::api;

/// A field of a section.
pub(super) fn field(ctx: *mut RedisModuleCtx, section: &CStr, name: &str) -> Option<String> {
    let name = CString::new(name).ok()?;
    // SAFETY: called in a valid context of the module; the info is freed once,
    // after the field has been copied.
    unsafe {
        let info = api!(RedisModule_GetServerInfo(ctx, section.as_ptr()));
        let value = api!(RedisModule_ServerInfoGetFieldC(info, name.as_ptr()));
        let text = (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned());
        api!(RedisModule_FreeServerInfo(ctx, info));
        text
    }
}

/// Whether the server is Valkey.
pub(super) fn is_valkey(ctx: *mut RedisModuleCtx) -> bool {
    field(ctx, c"server", "valkey_version").is_some()
}

/// The server's name and version.
pub(super) fn name_and_version(ctx: *mut RedisModuleCtx) -> Option<String> {
    ["valkey", "redict", "redis"].into_iter().find_map(|name| {
        let version = field(ctx, c"server", &format!("{name}_version"))?;
        Some(format!("{name} {version}"))
    })
}
