//! The users whose commands are rescued: `wurk.rescue-users`.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::ptr::{self, NonNull};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::api;
use super::arg::{Arg, OwnedString};
use super::ctx::Ctx;

thread_local! {
    // Read and written by the server's main thread.
    static NAMED: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    /// What the server is shown as the setting.
    static SETTING: Cell<Option<OwnedString>> = const { Cell::new(None) };
}

/// The user of clients that have not logged in.
pub(super) const DEFAULT: &[u8] = b"default";

/// Sets the names, which have blanks between them.
pub(super) fn set(names: &[u8]) {
    let names = names.split(u8::is_ascii_whitespace);
    let names = names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec);
    NAMED.set(names.collect());
}

/// The names, with single blanks between them.
pub(super) fn names() -> Vec<u8> {
    NAMED.with_borrow(|names| names.join(&b' '))
}

/// The names as a string of the server, valid until it is asked for again.
pub(super) fn setting() -> *mut RedisModuleString {
    let names = names();
    // SAFETY: the text is copied into a string that is the module's to free; the
    // server makes one or aborts.
    let setting = unsafe {
        let setting = api!(RedisModule_CreateString(
            ptr::null_mut(),
            names.as_ptr().cast(),
            names.len()
        ));
        OwnedString::new(NonNull::new_unchecked(setting))
    };
    let pointer = setting.arg().pointer();
    SETTING.set(Some(setting));
    pointer
}

pub(super) fn is_anyone_named() -> bool {
    NAMED.with_borrow(|names| !names.is_empty())
}

pub(super) fn is_named(user: &[u8]) -> bool {
    NAMED.with_borrow(|names| names.iter().any(|name| name == user))
}

impl Ctx<'_> {
    /// Whether the user of this call is named.
    pub(crate) fn is_rescued(&self) -> bool {
        if !is_anyone_named() {
            return false;
        }
        // SAFETY: the context is that of this call; the string is the module's to
        // free, and null if the client has no user.
        let name = unsafe { owned(api!(RedisModule_GetCurrentUserName(self.raw))) };
        name.is_some_and(|name| is_named(name.arg().bytes()))
    }
}

/// Whether the user of this client is named, and may run the command of this name.
/// `false` on servers before 7.2, which do not tell a filter whose command it is.
pub(super) fn is_client_rescued(ctx: *mut RedisModuleCtx, client: u64, command: Arg) -> bool {
    // SAFETY: the pointer is written once, before `load` runs.
    let Some(user_of) = (unsafe { raw::RedisModule_GetClientUserNameById }) else {
        return false;
    };
    // SAFETY: the context is a detached one of the module. The string is the
    // module's to free, and null if there is no such client, as for those that a
    // script or a module has made.
    let name = unsafe { owned(user_of(ctx, client)) };
    name.is_some_and(|name| is_named(name.arg().bytes()) && may_run(name.arg(), command))
}

fn may_run(user: Arg, command: Arg) -> bool {
    let mut command = command.pointer();
    // SAFETY: the strings are valid for this call; the user is null if there is none
    // of this name, or else freed once.
    unsafe {
        let user = api!(RedisModule_GetModuleUserFromUserName(user.pointer()));
        if user.is_null() {
            return false;
        }
        let status = api!(RedisModule_ACLCheckCommandPermissions(
            user,
            &raw mut command,
            1
        ));
        api!(RedisModule_FreeModuleUser(user));
        status == raw::REDISMODULE_OK as c_int
    }
}

/// # Safety
/// `string` is null or the module's to free.
unsafe fn owned(string: *mut RedisModuleString) -> Option<OwnedString> {
    // SAFETY: as the caller says.
    NonNull::new(string).map(|string| unsafe { OwnedString::new(string) })
}
