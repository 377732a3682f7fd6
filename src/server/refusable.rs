//! The commands that a full server may refuse, as the server itself lists them.
//!
//! They are read from `COMMAND` and read again when a module is loaded or
//! unloaded: every command and subcommand with the `denyoom` flag, and those that
//! run scripts, which are refused from inside.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::api::api;
use super::arg::Arg;
use super::call_reply::CallReply;
use super::ctx::Ctx;

/// How a command is refused on a full server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusable {
    /// It may grow memory.
    Grows,
    /// It moves a value from one list to another.
    Moves,
    /// It moves a value, and waits for one.
    Waits,
    /// It runs a script, whose commands are refused.
    Runs,
}

/// A command that a full server may refuse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) how: Refusable,
    /// Whether scripts may not call it.
    pub(super) noscript: bool,
}

/// Commands whose names begin alike: each name, its subcommand, if it has one, and
/// how it is refused.
type Names = Vec<(Vec<u8>, Option<Vec<u8>>, Refused)>;

/// Names by their first letter; what begins with none comes last.
type ByLetter = [Names; 27];

thread_local! {
    // The server's main thread reads and writes it. Other threads, which may ask a
    // command for its keys, never do.
    static BY_LETTER: RefCell<ByLetter> = const { RefCell::new([const { Vec::new() }; 27]) };
}

/// Flags that `COMMAND` shows.
const DENYOOM: &[u8] = b"denyoom";
const NOSCRIPT: &[u8] = b"noscript";

/// Commands that run scripts have no flag in common.
const SCRIPTS: [&[u8]; 3] = [b"eval", b"evalsha", b"fcall"];
const MOVES: [&[u8]; 2] = [b"lmove", b"rpoplpush"];
const WAITS: [&[u8]; 2] = [b"blmove", b"brpoplpush"];

/// How a full server refuses a command with these arguments, its name first.
/// `None` if it does not.
pub(super) fn find<'a>(
    name: &[u8],
    subcommand: impl FnOnce() -> Option<&'a [u8]>,
) -> Option<Refused> {
    let place = place_of(name)?;
    BY_LETTER.with_borrow(|by_letter| {
        let mut subcommand = Some(subcommand);
        let mut found: Option<Option<&'a [u8]>> = None;
        by_letter
            .get(place)?
            .iter()
            .find_map(|(known, known_sub, refused)| {
                if !known.eq_ignore_ascii_case(name) {
                    return None;
                }
                let Some(known_sub) = known_sub else {
                    return Some(*refused);
                };
                let given = *found.get_or_insert_with(|| subcommand.take().and_then(|ask| ask()));
                given?.eq_ignore_ascii_case(known_sub).then_some(*refused)
            })
    })
}

fn place_of(name: &[u8]) -> Option<usize> {
    let letter = name.first()?.to_ascii_lowercase();
    Some(
        letter
            .checked_sub(b'a')
            .map_or(26, |letter| usize::from(letter).min(26)),
    )
}

impl Ctx<'_> {
    /// How a full server refuses this command, its name first in `args`.
    pub(crate) fn refused(&self, args: &[Arg]) -> Option<Refused> {
        let (name, rest) = args.split_first()?;
        find(name.bytes(), || rest.first().map(|sub| sub.bytes()))
    }
}

/// Reads the commands, and again at every change of modules. `false` if the
/// server does not tell of those.
pub(super) fn follow_commands(ctx: *mut RedisModuleCtx) -> bool {
    unsafe extern "C" fn modules_changed(
        ctx: *mut RedisModuleCtx,
        _: RedisModuleEvent,
        _: u64,
        _: *mut c_void,
    ) {
        read(ctx);
    }
    read(ctx);
    let event = RedisModuleEvent {
        id: raw::REDISMODULE_EVENT_MODULE_CHANGE,
        dataver: 1,
    };
    // SAFETY: called at load in a valid context, with a function of a library
    // that is not unloaded without its subscriptions.
    let status = unsafe {
        api!(RedisModule_SubscribeToServerEvent(
            ctx,
            event,
            Some(modules_changed)
        ))
    };
    status == raw::REDISMODULE_OK as c_int
}

fn read(ctx: *mut RedisModuleCtx) {
    // SAFETY: a context that the server has handed to the module for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    let Ok(commands) = ctx.call_readonly(c"COMMAND", &[]).into_result() else {
        return;
    };
    let mut by_letter = [const { Vec::new() }; 27];
    for command in commands.items() {
        add(&mut by_letter, &command);
    }
    BY_LETTER.set(by_letter);
}

/// Adds a command of the reply to `COMMAND`, and its subcommands.
fn add(by_letter: &mut ByLetter, command: &CallReply) {
    const NAME: usize = 0;
    const FLAGS: usize = 2;
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
        let noscript = has_flag(NOSCRIPT);
        let (name, subcommand) = match name.iter().position(|byte| *byte == b'|') {
            None => (name, None),
            Some(bar) => {
                let (name, subcommand) = name.split_at(bar);
                (name.to_vec(), subcommand.get(1..).map(<[u8]>::to_vec))
            }
        };
        if let Some(names) = place_of(&name).and_then(|place| by_letter.get_mut(place)) {
            names.push((name, subcommand, Refused { how, noscript }));
        }
    }
    if let Some(subcommands) = command.item(SUBCOMMANDS) {
        for subcommand in subcommands.items() {
            add(by_letter, &subcommand);
        }
    }
}
