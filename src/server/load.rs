//! Loading: what the module needs of a server, and the line it logs.

use std::ffi::{CStr, c_int};

use redis_module::raw::{self, RedisModuleCtx};
use redis_module::{Context, RedisString, Status};

use super::api::{self, api};
use super::command::{self, Registration};
use super::command_list;
use super::config;
use super::cron;
use super::ctx::Ctx;
use super::filter;
use super::hash;
use super::info;
use super::key;
use super::log;
use super::memory;
use super::options;
use super::shared_strings;
use super::stats;
use super::unload;

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

/// Registers the commands, or logs in one line why not.
pub(crate) fn load(context: &Context, args: &[RedisString], commands: &[Registration]) -> Status {
    let ctx = context.ctx.cast();
    let version = env!("CARGO_PKG_VERSION");
    match try_load(ctx, args, commands) {
        Ok(()) => {
            let line = format!("wurk {version} loaded: {}", summary(ctx));
            log::write(ctx, log::NOTICE, &line);
            Status::Ok
        }
        Err(why) => {
            let line = format!("wurk {version} not loaded: {why}");
            log::write(ctx, log::WARNING, &line);
            Status::Err
        }
    }
}

fn try_load(
    ctx: *mut RedisModuleCtx,
    args: &[RedisString],
    commands: &[Registration],
) -> Result<(), String> {
    let missing: Vec<_> = api::missing().collect();
    if !missing.is_empty() {
        return Err(format!(
            "it needs Redis 7.0 or later, Valkey or Redict; this server lacks {}",
            missing.join(", ")
        ));
    }
    options::declare(ctx);
    shared_strings::create();
    check_commands(ctx)?;
    key::choose_peek_mode();
    hash::follow_server(ctx);
    if !command_list::follow(ctx) {
        return Err("cannot subscribe to module events".into());
    }
    filter::prepare(ctx);
    config::register(ctx, args)?;
    // SAFETY: the context is the module's own, the function one that stays.
    unsafe { api!(RedisModule_RegisterInfoFunc(ctx, Some(stats::info))) };
    for registration in commands {
        command::create(ctx, registration)
            .map_err(|why| format!("the server refused {}: {why}", registration.name()))?;
    }
    // Last: nothing may call a module that has not been loaded.
    let follows =
        memory::follow_maxmemory(ctx) && unload::follow_first_command(ctx) && cron::follow(ctx);
    if !follows {
        return Err("cannot subscribe to server events".into());
    }
    Ok(())
}

/// The commands of the server that are called or replicated: what is replicated
/// under a name that the server does not know is lost.
const COMMANDS: [&CStr; 12] = [
    c"HSET",
    c"LMOVE",
    c"LPOS",
    c"LPUSH",
    c"LREM",
    c"PEXPIREAT",
    c"RPUSH",
    c"SADD",
    c"SET",
    c"ZADD",
    c"ZREM",
    c"ZREMRANGEBYRANK",
];

fn check_commands(ctx: *mut raw::RedisModuleCtx) -> Result<(), String> {
    // SAFETY: the context is the module's own, valid until loading is over.
    let ctx = unsafe { Ctx::new(ctx) };
    match COMMANDS
        .into_iter()
        .find(|command| !ctx.command_exists(command))
    {
        None => Ok(()),
        Some(command) => Err(format!(
            "required command {} is unavailable (renamed or disabled): see 'rename-command' in the configuration",
            command.to_string_lossy()
        )),
    }
}

/// The server, its memory limit, and what it lacks.
fn summary(ctx: *mut RedisModuleCtx) -> String {
    let server = info::name_and_version(ctx).unwrap_or_else(|| "unknown server".into());
    let maxmemory = info::field(ctx, c"memory", "maxmemory").unwrap_or_default();
    let policy = info::field(ctx, c"memory", "maxmemory_policy").unwrap_or_default();
    // SAFETY: the pointer is written once, before `load` runs.
    let categories = unsafe { { raw::RedisModule_SetCommandACLCategories }.is_some() };
    let categories = if categories { "set" } else { "not before 7.2" };
    format!("{server}, maxmemory {maxmemory} {policy}, ACL categories {categories}")
}
