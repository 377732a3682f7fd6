//! Configuration: `wurk.growth-limit`, `wurk.rescue-limit`, `wurk.rescue-users`.
//!
//! Each can be an argument of `loadmodule` without its prefix. A line of the
//! server's own configuration, or `MODULE LOADEX … CONFIG`, comes after and wins.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::ptr;

use redis_module::RedisString;
use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::api;
use super::arg::Arg;
use super::arguments::{self, GROWTH_LIMIT, RESCUE_LIMIT, RESCUE_USERS};
use super::filter;
use super::limits::{self, GROWTH, Limit, MOST};
use super::log;
use super::users;

/// Reads the arguments of `loadmodule`, and registers the configuration.
pub(super) fn register(ctx: *mut RedisModuleCtx, args: &[RedisString]) -> Result<(), String> {
    let defaults = arguments::read(args)?;
    let registered = register_limit(ctx, GROWTH_LIMIT, defaults.growth_limit, &GROWTH)
        && register_limit(ctx, RESCUE_LIMIT, defaults.rescue_limit, &limits::RESCUE)
        && register_users(ctx, &defaults.rescue_users);
    // SAFETY: called at load in a valid context.
    if registered && is_ok(unsafe { api!(RedisModule_LoadConfigs(ctx)) }) {
        Ok(())
    } else {
        Err(format!(
            "the server refused a setting: wurk.growth-limit and wurk.rescue-limit are percentages \
             from 0 to {MOST}, wurk.rescue-users names users with blanks between"
        ))
    }
}

fn register_limit(
    ctx: *mut RedisModuleCtx,
    name: &CStr,
    default: i64,
    limit: &'static Limit,
) -> bool {
    unsafe extern "C" fn get(_: *const c_char, limit: *mut c_void) -> c_longlong {
        // SAFETY: the private data is the limit, which is static.
        unsafe { limit.cast::<Limit>().as_ref() }.map_or(0, Limit::get)
    }
    unsafe extern "C" fn set(
        _: *const c_char,
        value: c_longlong,
        limit: *mut c_void,
        _: *mut *mut RedisModuleString,
    ) -> c_int {
        // SAFETY: as above.
        if let Some(limit) = unsafe { limit.cast::<Limit>().as_ref() } {
            limit.set(value);
        }
        raw::REDISMODULE_OK as c_int
    }
    // SAFETY: called at load in a valid context; the name ends in NUL and is
    // copied. The callbacks are functions of a library that is not unloaded without
    // its settings, and only read the private data.
    is_ok(unsafe {
        api!(RedisModule_RegisterNumericConfig(
            ctx,
            name.as_ptr(),
            default,
            raw::REDISMODULE_CONFIG_DEFAULT,
            0,
            MOST,
            Some(get),
            Some(set),
            None,
            ptr::from_ref(limit).cast_mut().cast(),
        ))
    })
}

fn register_users(ctx: *mut RedisModuleCtx, default: &CStr) -> bool {
    unsafe extern "C" fn get(_: *const c_char, _: *mut c_void) -> *mut RedisModuleString {
        users::setting()
    }
    unsafe extern "C" fn set(
        _: *const c_char,
        names: *mut RedisModuleString,
        _: *mut c_void,
        _: *mut *mut RedisModuleString,
    ) -> c_int {
        let before = users::names();
        if let Some(names) = ptr::NonNull::new(names) {
            // SAFETY: a string of the server, which stays valid until this returns.
            let names = unsafe { Arg::new(names) };
            users::set(names.bytes());
        }
        filter::follow_users();
        if users::names() != before {
            say_who_is_named();
        }
        raw::REDISMODULE_OK as c_int
    }
    // SAFETY: called at load in a valid context; name and default end in NUL and
    // are copied. The callbacks are functions of a library that is not unloaded
    // without its settings.
    is_ok(unsafe {
        api!(RedisModule_RegisterStringConfig(
            ctx,
            RESCUE_USERS.as_ptr(),
            default.as_ptr(),
            raw::REDISMODULE_CONFIG_DEFAULT,
            Some(get),
            Some(set),
            None,
            ptr::null_mut(),
        ))
    })
}

/// One line in the log, and what is to be known beside it.
fn say_who_is_named() {
    let ctx = filter::context();
    let names = String::from_utf8_lossy(&users::names()).into_owned();
    if names.is_empty() {
        log::write(ctx, log::NOTICE, "wurk.rescue-users: nobody");
        return;
    }
    let line = format!("wurk.rescue-users: on a full server, commands are run for {names}");
    log::write(ctx, log::NOTICE, &line);
    if !filter::is_possible() {
        log::write(
            ctx,
            log::WARNING,
            "wurk.rescue-users: before 7.2 only commands sent by WURK.RESCUE are run",
        );
    }
    if users::is_named(users::DEFAULT) {
        log::write(
            ctx,
            log::WARNING,
            "wurk.rescue-users: 'default' is every client that has not logged in, producers too: \
             they are let through up to wurk.rescue-limit",
        );
    }
}

fn is_ok(status: c_int) -> bool {
    status == raw::REDISMODULE_OK as c_int
}
