//! How a command is registered, and how the server calls it.

use std::ffi::{c_char, c_int};
use std::ptr;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::api;
use super::arg::Arg;
use super::command_info::{CommandInfo, KeySpec};
use super::ctx::Ctx;
use super::error::{Error, Result};
use super::limits;
use super::reply::Reply;
use super::stats::{self, Counter};

/// A command of the module.
pub(crate) trait Command {
    /// Its description.
    const INFO: CommandInfo;

    /// What a call counts as: the first if it did something, the other if there
    /// was nothing to do. `None` if it counts by itself.
    const COUNTS: Option<[&'static Counter; 2]> = None;

    /// Whether its keys are those of the command that is its first argument, for
    /// `getkeys-api`.
    const NAMES_INNER_KEYS: bool = false;

    /// Whether it can grow a full server, and is held by `wurk.growth-limit`.
    const GROWS: bool = false;

    /// One call. The name stands first in `args`; the arity has been checked.
    fn run(ctx: &Ctx, args: &[Arg]) -> Result<Reply>;
}

/// A handler, as the server calls it.
type Handler =
    unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// A row of the module's table of commands.
pub(crate) struct Registration {
    info: CommandInfo,
    handler: Handler,
}

/// The row for `C`.
pub(crate) const fn register<C: Command>() -> Registration {
    Registration {
        info: C::INFO,
        handler: handle::<C>,
    }
}

/// What the server calls. The arguments stay where they are: keeping each for
/// the length of the call would cost more than the call where there are many.
unsafe extern "C" fn handle<C: Command>(
    raw: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server calls this, with a context and arguments that are
    // valid until it returns.
    let (ctx, args) = unsafe { (Ctx::new(raw), Arg::all(argv, argc)) };
    if C::NAMES_INNER_KEYS && ctx.is_keys_request() {
        ctx.name_inner_keys(args);
        return raw::REDISMODULE_OK as c_int;
    }
    let result = if C::GROWS && limits::past_growth_limit() {
        stats::GROWTH_REFUSED.add(1);
        Err(Error::GrowthLimit)
    } else {
        C::run(&ctx, args)
    };
    stats::count(C::COUNTS, &result);
    ctx.send(C::INFO.name, result);
    raw::REDISMODULE_OK as c_int
}

/// Creates a command. `Err` says what the server would not take.
pub(super) fn create(
    ctx: *mut RedisModuleCtx,
    Registration { info, handler }: &Registration,
) -> std::result::Result<(), &'static str> {
    const SINCE: *const c_char = concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast();
    let (first, last, step) = info.key_positions;
    let mut keys: Vec<_> = info.keys.iter().map(KeySpec::raw).collect();
    let mut parts = Vec::new();
    let mut args: Vec<_> = info
        .arguments
        .iter()
        .map(|arg| arg.raw(&mut parts))
        .collect();
    // SAFETY: called at load, in a context that is valid. The server copies all
    // that the description points to before it returns; a zeroed entry ends
    // each list, and zero is a value of every field.
    unsafe {
        keys.push(std::mem::zeroed());
        args.push(std::mem::zeroed());
        let name = info.name.as_ptr();
        if api!(RedisModule_CreateCommand(
            ctx,
            name,
            Some(*handler),
            info.flags.as_ptr(),
            first,
            last,
            step
        )) != raw::REDISMODULE_OK as c_int
        {
            return Err("its name is taken");
        }
        let command = api!(RedisModule_GetCommand(ctx, name));
        if command.is_null() {
            return Err("it cannot be found again");
        }
        let version = raw::RedisModuleCommandInfoVersion {
            version: 1,
            sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
            sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
            sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
        };
        let description = raw::RedisModuleCommandInfo {
            version: &version,
            summary: info.summary.as_ptr(),
            complexity: info.complexity.as_ptr(),
            since: SINCE,
            history: ptr::null_mut(),
            tips: ptr::null(),
            arity: info.arity,
            key_specs: keys.as_mut_ptr(),
            args: args.as_mut_ptr(),
        };
        if api!(RedisModule_SetCommandInfo(command, &description)) != raw::REDISMODULE_OK as c_int {
            return Err("its description is refused");
        }
        // From 7.2 on. Before, the server derives what it can from the flags.
        if let Some(set_categories) = raw::RedisModule_SetCommandACLCategories
            && set_categories(command, info.categories.as_ptr()) != raw::REDISMODULE_OK as c_int
        {
            return Err("its ACL categories are refused");
        }
    }
    Ok(())
}

impl Registration {
    /// The command's name, for a line in the log.
    pub(super) fn name(&self) -> std::borrow::Cow<'static, str> {
        self.info.name.to_string_lossy()
    }
}
