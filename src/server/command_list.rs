//! The commands of the server, read from `COMMAND`, and again when a module is
//! loaded or unloaded: what a full server may refuse is asked, not typed.

use std::ffi::c_void;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::call_reply::CallReply;
use super::ctx::Ctx;
use super::events;
use super::key_flags::KeyFlags;
use super::refusable::{self, Commands, Named, Refusable, Refused};

/// Flags that `COMMAND` shows.
const DENYOOM: &[u8] = b"denyoom";
const NOSCRIPT: &[u8] = b"noscript";

/// Commands that run scripts have no flag in common.
const SCRIPTS: [&[u8]; 3] = [b"eval", b"evalsha", b"fcall"];
const MOVES: [&[u8]; 2] = [b"lmove", b"rpoplpush"];
const WAITS: [&[u8]; 2] = [b"blmove", b"brpoplpush"];

/// Reads the commands, and again at every change of modules. `false` if the server
/// does not tell of those.
pub(super) fn follow(ctx: *mut RedisModuleCtx) -> bool {
    unsafe extern "C" fn modules_changed(
        ctx: *mut RedisModuleCtx,
        _: RedisModuleEvent,
        _: u64,
        _: *mut c_void,
    ) {
        read(ctx);
    }
    read(ctx);
    events::subscribe(ctx, raw::REDISMODULE_EVENT_MODULE_CHANGE, modules_changed)
}

fn read(ctx: *mut RedisModuleCtx) {
    // SAFETY: a context that the server has handed to the module for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    let Ok(commands) = ctx.call_readonly(c"COMMAND", &[]).into_result() else {
        return;
    };
    let mut found = Commands::EMPTY;
    for command in commands.items() {
        add(&mut found, &command);
    }
    refusable::set_all(found);
}

/// Adds a command of the reply to `COMMAND`, and its subcommands.
fn add(found: &mut Commands, command: &CallReply) {
    const NAME: usize = 0;
    const ARITY: usize = 1;
    const FLAGS: usize = 2;
    const KEY_SPECS: usize = 8;
    const SUBCOMMANDS: usize = 9;
    let Some(name) = command
        .item(NAME)
        .map(|name| name.bytes().to_ascii_lowercase())
    else {
        return;
    };
    let has_flag = |name: &[u8]| {
        let flags = command.item(FLAGS);
        flags.is_some_and(|flags| flags.items().any(|flag| flag.bytes() == name))
    };
    let is_one_of = |names: &[&[u8]]| names.contains(&name.as_slice());
    let refusable = if is_one_of(&SCRIPTS) {
        Some(Refusable::Runs)
    } else if !has_flag(DENYOOM) {
        None
    } else if is_one_of(&MOVES) {
        Some(Refusable::Moves)
    } else if is_one_of(&WAITS) {
        Some(Refusable::Waits)
    } else {
        Some(Refusable::Grows)
    };
    if let Some(how) = refusable {
        let refused = Refused {
            how,
            noscript: has_flag(NOSCRIPT),
            arity: command.item(ARITY).map_or(0, |arity| arity.integer()),
        };
        let mut parts = name.splitn(2, |byte| *byte == b'|');
        let of_name = found.get_or_insert(parts.next().unwrap_or_default(), Vec::new);
        of_name.push(Named {
            subcommand: parts.next().map(<[u8]>::to_vec),
            refused,
            keys: command
                .item(KEY_SPECS)
                .iter()
                .flat_map(|specs| specs.items().filter_map(|spec| KeyFlags::read(&spec)))
                .collect(),
        });
    }
    if let Some(subcommands) = command.item(SUBCOMMANDS) {
        for subcommand in subcommands.items() {
            add(found, &subcommand);
        }
    }
}
