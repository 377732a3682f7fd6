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
use super::key_flags::KeyFlags;

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
#[derive(Clone, Copy)]
pub(crate) struct Refused {
    pub(crate) how: Refusable,
    /// Whether scripts may not call it.
    pub(super) noscript: bool,
    /// How many arguments it takes with its name; negative for at least so many.
    arity: i64,
}

impl Refused {
    /// Whether it takes so many arguments, with its name.
    pub(super) fn takes(&self, arguments: i64) -> bool {
        arguments == self.arity || (self.arity < 0 && arguments >= self.arity.saturating_neg())
    }
}

/// A command by its name, and its subcommand, if it has one.
struct Named {
    name: Vec<u8>,
    subcommand: Option<Vec<u8>>,
    refused: Refused,
    keys: Vec<KeyFlags>,
}

/// Commands whose names begin alike.
type Names = Vec<Named>;

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

/// How a full server refuses a command with this name, and this subcommand if it
/// has any. `None` if it does not.
pub(super) fn find<'a>(
    name: &[u8],
    subcommand: impl FnOnce() -> Option<&'a [u8]>,
) -> Option<Refused> {
    find_named(name, subcommand, |named| named.refused)
}

fn find_named<'a, T>(
    name: &[u8],
    subcommand: impl FnOnce() -> Option<&'a [u8]>,
    read: impl FnOnce(&Named) -> T,
) -> Option<T> {
    let place = place_of(name)?;
    BY_LETTER.with_borrow(|by_letter| {
        let mut named = by_letter
            .get(place)?
            .iter()
            .filter(|named| named.name.eq_ignore_ascii_case(name));
        let first = named.next()?;
        let found = if first.subcommand.is_none() {
            first
        } else {
            let given = subcommand()?;
            let is_given = |named: &&Named| {
                let known = named.subcommand.as_deref();
                known.is_some_and(|known| known.eq_ignore_ascii_case(given))
            };
            [first].into_iter().chain(named).find(is_given)?
        };
        Some(read(found))
    })
}

/// What a command with these arguments does with the key at this place; 0 if that
/// is not known, as in other threads of the server than its main one.
pub(super) fn flags_of_key(args: &[Arg], place: c_int) -> c_int {
    let Some((name, rest)) = args.split_first() else {
        return 0;
    };
    let subcommand = || rest.first().map(|arg| arg.bytes());
    let flags = find_named(name.bytes(), subcommand, |named| {
        named
            .keys
            .iter()
            .find_map(|keys| keys.at(place.into(), args))
    });
    flags.flatten().unwrap_or(0)
}

/// Whether this is a command with subcommands.
pub(super) fn is_container(name: &[u8]) -> bool {
    find_named(name, || None, |_| ()).is_none()
        && place_of(name).is_some_and(|place| {
            BY_LETTER.with_borrow(|by_letter| {
                let named = by_letter.get(place);
                named.is_some_and(|named| named.iter().any(|named| named.name == name))
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
        let (name, subcommand) = match name.iter().position(|byte| *byte == b'|') {
            None => (name, None),
            Some(bar) => {
                let (name, subcommand) = name.split_at(bar);
                (name.to_vec(), subcommand.get(1..).map(<[u8]>::to_vec))
            }
        };
        if let Some(names) = place_of(&name).and_then(|place| by_letter.get_mut(place)) {
            names.push(Named {
                name,
                subcommand,
                refused,
                keys: command
                    .item(KEY_SPECS)
                    .iter()
                    .flat_map(|specs| specs.items().filter_map(|spec| KeyFlags::read(&spec)))
                    .collect(),
            });
        }
    }
    if let Some(subcommands) = command.item(SUBCOMMANDS) {
        for subcommand in subcommands.items() {
            add(by_letter, &subcommand);
        }
    }
}
