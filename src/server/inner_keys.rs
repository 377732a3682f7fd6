//! The keys of a command that is an argument of another one.

use std::ffi::c_int;
use std::slice;

use redis_module::raw::{self, RedisModuleString};

use super::api::api;
use super::arg::Arg;
use super::ctx::Ctx;
use super::refusable;

impl Ctx<'_> {
    /// Whether the handler has been called to name keys, not to run: maybe from
    /// another thread of the server, and before the arity is checked.
    pub(super) fn is_keys_request(&self) -> bool {
        // SAFETY: the context is that of this call.
        unsafe { api!(RedisModule_IsKeysPositionRequest(self.raw)) != 0 }
    }

    /// Names the keys of the command that stands after the name of this one, with
    /// their flags. Writes nothing that another thread could see.
    pub(super) fn name_inner_keys(&self, args: &[Arg]) {
        let [outer, inner @ ..] = args else { return };
        // One inside another would be called for its keys again and again.
        if inner
            .first()
            .is_none_or(|name| name.bytes().eq_ignore_ascii_case(outer.bytes()))
        {
            return;
        }
        let Ok(argc) = c_int::try_from(inner.len()) else {
            return;
        };
        let mut count: c_int = 0;
        let mut flags: *mut c_int = std::ptr::null_mut();
        // SAFETY: the context is that of this call, the arguments are valid for
        // it, and the server only reads them. It fills in as many places and flags
        // as it says, or none, in two arrays that are the module's to free.
        unsafe {
            let places = api!(RedisModule_GetCommandKeysWithFlags(
                self.raw,
                inner.as_ptr().cast::<*mut RedisModuleString>().cast_mut(),
                argc,
                &raw mut count,
                &raw mut flags,
            ));
            let length = usize::try_from(count).unwrap_or(0);
            if !places.is_null() && !flags.is_null() {
                let places = slice::from_raw_parts(places, length);
                let flags = slice::from_raw_parts(flags, length);
                for (place, flags) in places.iter().zip(flags) {
                    let flags = match *flags {
                        0 => refusable::flags_of_key(inner, *place),
                        flags => flags,
                    };
                    let place = place.saturating_add(1);
                    api!(RedisModule_KeyAtPosWithFlags(self.raw, place, flags));
                }
            }
            if let Some(free) = raw::RedisModule_Free {
                free(places.cast());
                free(flags.cast());
            }
        }
    }
}
