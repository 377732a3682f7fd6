//! Configuration: `wurk.growth-limit`.
//!
//! `WURK.LOCK` and `WURK.ZADD` grow a server that is full already. Past
//! `maxmemory × (1 + limit/100)` they are refused. Claims and requeues let it
//! shrink, and never are.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use redis_module::RedisString;
use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::api;
use super::memory;

const NAME: &CStr = c"growth-limit";

/// The largest limit, in percent: a server of 1 GiB may then grow to 1 TiB.
const MOST: i64 = 100_000;

static GROWTH_LIMIT: AtomicI64 = AtomicI64::new(0);

/// Whether used memory is past the growth limit.
pub(super) fn past_growth_limit() -> bool {
    let limit = GROWTH_LIMIT.load(Relaxed);
    limit > 0 && memory::used_ratio() > 1.0 + limit as f64 / 100.0
}

/// Reads the arguments of `loadmodule`, `growth-limit <percent>`, and registers
/// the configuration. The server's own, by `MODULE LOADEX … CONFIG` or a line
/// `wurk.growth-limit` in its file, comes after and wins.
pub(super) fn register(ctx: *mut RedisModuleCtx, args: &[RedisString]) -> Result<(), String> {
    let default = read_arguments(args)?;
    // SAFETY: called at load in a valid context; the name ends in NUL and is
    // copied, the callbacks are functions of a library that is not unloaded
    // without its settings.
    let registered = unsafe {
        let ok = raw::REDISMODULE_OK as c_int;
        api!(RedisModule_RegisterNumericConfig(
            ctx,
            NAME.as_ptr(),
            default,
            raw::REDISMODULE_CONFIG_DEFAULT,
            0,
            MOST,
            Some(get),
            Some(set),
            None,
            ptr::null_mut(),
        )) == ok
            && api!(RedisModule_LoadConfigs(ctx)) == ok
    };
    if registered {
        Ok(())
    } else {
        Err(format!(
            "the server refused wurk.growth-limit: a percentage from 0 to {MOST}"
        ))
    }
}

fn read_arguments(args: &[RedisString]) -> Result<i64, String> {
    let name = String::from_utf8_lossy(NAME.to_bytes()).into_owned();
    match args {
        [] => Ok(0),
        [argument, value] if argument.as_slice() == NAME.to_bytes() => {
            let value = String::from_utf8_lossy(value.as_slice());
            let limit = value
                .parse()
                .ok()
                .filter(|limit| (0..=MOST).contains(limit));
            limit.ok_or_else(|| {
                format!("{name} takes a percentage from 0 to {MOST}, found {value:?}")
            })
        }
        _ => {
            let texts = args
                .iter()
                .map(|word| String::from_utf8_lossy(word.as_slice()));
            let found = texts.collect::<Vec<_>>().join(" ");
            Err(format!(
                "its one argument is '{name} <percent>', found {found:?}"
            ))
        }
    }
}

unsafe extern "C" fn get(_: *const c_char, _: *mut c_void) -> c_longlong {
    GROWTH_LIMIT.load(Relaxed)
}

unsafe extern "C" fn set(
    _: *const c_char,
    value: c_longlong,
    _: *mut c_void,
    _: *mut *mut RedisModuleString,
) -> c_int {
    GROWTH_LIMIT.store(value, Relaxed);
    raw::REDISMODULE_OK as c_int
}
