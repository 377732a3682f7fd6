//! Loading: what the module needs of a server, and the line it writes.

use std::ffi::{CStr, CString, c_int};

use redis_module::{Context, RedisString, Status, raw};

use super::api::{self, api};
use super::{Ctx, Registration, command, config, key, memory, options, stats, unload, words};

/// The crate's version as `MODULE LIST` shows it: 1.2.3 is 10203.
pub(crate) const VERSION: c_int = match version() {
    Some(version) => version,
    None => 0,
};

const fn version() -> Option<c_int> {
    const fn part(text: &str) -> Option<c_int> {
        match c_int::from_str_radix(text, 10) {
            Ok(part) if part < 100 => Some(part),
            _ => None,
        }
    }
    let (Some(major), Some(minor), Some(patch)) = (
        part(env!("CARGO_PKG_VERSION_MAJOR")),
        part(env!("CARGO_PKG_VERSION_MINOR")),
        part(env!("CARGO_PKG_VERSION_PATCH")),
    ) else {
        return None;
    };
    match major.checked_mul(10_000) {
        Some(major) => match minor.checked_mul(100) {
            Some(minor) => match major.checked_add(minor) {
                Some(sum) => sum.checked_add(patch),
                None => None,
            },
            None => None,
        },
        None => None,
    }
}
const _: () = assert!(VERSION > 0, "a part of the crate's version is 100 or more");

/// Registers the commands, or says in one line why not.
pub(crate) fn load(context: &Context, args: &[RedisString], commands: &[Registration]) -> Status {
    match try_load(context, args, commands) {
        Ok(found) => {
            log(
                context,
                c"notice",
                &format!("wurk {} loaded: {found}", env!("CARGO_PKG_VERSION")),
            );
            Status::Ok
        }
        Err(why) => {
            log(
                context,
                c"warning",
                &format!("wurk {} not loaded: {why}", env!("CARGO_PKG_VERSION")),
            );
            Status::Err
        }
    }
}

fn try_load(
    context: &Context,
    args: &[RedisString],
    commands: &[Registration],
) -> Result<String, String> {
    let missing: Vec<_> = api::missing().collect();
    if !missing.is_empty() {
        return Err(format!(
            "it needs Redis 7.0 or later, Valkey or Redict; this server lacks {}",
            missing.join(", ")
        ));
    }
    let ctx = context.ctx.cast();
    options::declare(ctx);
    words::make();
    check_commands(ctx)?;
    key::follow_the_server(ctx);
    config::register(ctx, args)?;
    // SAFETY: the context is the module's own, the function one that stays.
    unsafe {
        api!(RedisModule_RegisterInfoFunc(
            context.ctx.cast(),
            Some(stats::info)
        ))
    };
    for registration in commands {
        command::register(context.ctx.cast(), registration)
            .map_err(|why| format!("the server refused {}: {why}", registration.name()))?;
    }
    // Last: nothing may call a module that has not been loaded.
    if !memory::follow(ctx) || !unload::follow_first_command(ctx) {
        return Err("the server does not tell of what happens in it".into());
    }
    Ok(found(context))
}

/// The commands of the server's own that are called, or sent on to replicas and
/// the AOF: what is sent on under a name that is unknown there is lost.
const COMMANDS: [&CStr; 9] = [
    c"HSET",
    c"LMOVE",
    c"LPOS",
    c"LREM",
    c"PEXPIREAT",
    c"RPUSH",
    c"SADD",
    c"SET",
    c"ZADD",
];

fn check_commands(ctx: *mut raw::RedisModuleCtx) -> Result<(), String> {
    // SAFETY: the context is the module's own, valid until loading is over.
    let ctx = unsafe { Ctx::new(ctx) };
    match COMMANDS.into_iter().find(|command| !ctx.knows(command)) {
        None => Ok(()),
        Some(command) => Err(format!(
            "it needs {}, which this server does not know: see 'rename-command' in its configuration",
            command.to_string_lossy()
        )),
    }
}

/// What kind of server this is, and how it stands to memory.
fn found(context: &Context) -> String {
    let server = ["valkey_version", "redict_version", "redis_version"]
        .into_iter()
        .find_map(|field| {
            let name = field.split('_').next().unwrap_or(field);
            Some(format!(
                "{name} {}",
                server_info(context.ctx.cast(), c"server", field)?
            ))
        })
        .unwrap_or_else(|| "a server that does not say its version".into());
    let maxmemory = server_info(context.ctx.cast(), c"memory", "maxmemory").unwrap_or_default();
    let policy = server_info(context.ctx.cast(), c"memory", "maxmemory_policy").unwrap_or_default();
    // SAFETY: the pointer is written once, before `load` runs.
    let categories = unsafe { { raw::RedisModule_SetCommandACLCategories }.is_some() };
    let categories = if categories { "set" } else { "not before 7.2" };
    format!("{server}, maxmemory {maxmemory} {policy}, ACL categories {categories}")
}

/// A field of `INFO`.
pub(super) fn server_info(
    ctx: *mut raw::RedisModuleCtx,
    section: &CStr,
    field: &str,
) -> Option<String> {
    let field = CString::new(field).ok()?;
    // SAFETY: the info is freed once, after the field has been copied.
    unsafe {
        let info = api!(RedisModule_GetServerInfo(ctx, section.as_ptr()));
        let value = api!(RedisModule_ServerInfoGetFieldC(info, field.as_ptr()));
        let text = (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned());
        api!(RedisModule_FreeServerInfo(ctx, info));
        text
    }
}

/// One line in the server's log.
pub(super) fn log(context: &Context, level: &CStr, line: &str) {
    // A NUL would end the line early, a percent sign is the server's own.
    let line = CString::new(line.replace('\0', "\\0")).unwrap_or_default();
    // SAFETY: a null pointer is checked, since this runs before all else is.
    // `%s` takes the one text behind it.
    unsafe {
        if let Some(log) = raw::RedisModule_Log {
            log(
                context.ctx.cast(),
                level.as_ptr(),
                c"%s".as_ptr(),
                line.as_ptr(),
            );
        }
    }
}
