//! The commands that a full server may refuse: those with the `denyoom` flag, and
//! those that run scripts, which are refused from inside. See `command_list`.

use std::cell::RefCell;
use std::ffi::c_int;

use super::arg::Arg;
use super::ctx::Ctx;
use super::key_flags::KeyFlags;
use super::names::Names;

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
    pub(super) arity: i64,
}

impl Refused {
    /// Whether it takes so many arguments, with its name.
    pub(super) fn takes(&self, arguments: i64) -> bool {
        arguments == self.arity || (self.arity < 0 && arguments >= self.arity.saturating_neg())
    }
}

/// A command, or a subcommand, with the specs of its keys.
pub(super) struct Named {
    /// The subcommand's name, if it is one.
    pub(super) subcommand: Option<Vec<u8>>,
    pub(super) refused: Refused,
    pub(super) keys: Vec<KeyFlags>,
}

/// By its name each command, or those of its subcommands that are refused.
pub(super) type Commands = Names<Vec<Named>>;

thread_local! {
    // The server's main thread reads and writes it. Other threads, which may ask a
    // command for its keys, never do.
    static COMMANDS: RefCell<Commands> = const { RefCell::new(Names::EMPTY) };
}

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
    COMMANDS.with_borrow(|commands| {
        let of_name = commands.get(name)?;
        let first = of_name.first()?;
        if first.subcommand.is_none() {
            return Some(read(first));
        }
        let given = subcommand()?;
        let found = of_name.iter().find(|named| {
            let known = named.subcommand.as_deref();
            known.is_some_and(|known| known.eq_ignore_ascii_case(given))
        });
        found.map(read)
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
    COMMANDS.with_borrow(|commands| {
        let first = commands.get(name).and_then(|of_name| of_name.first());
        first.is_some_and(|first| first.subcommand.is_some())
    })
}

impl Ctx<'_> {
    /// How a full server refuses this command, its name first in `args`.
    pub(crate) fn refused(&self, args: &[Arg]) -> Option<Refused> {
        let (name, rest) = args.split_first()?;
        find(name.bytes(), || rest.first().map(|sub| sub.bytes()))
    }
}

/// Replaces all commands.
pub(super) fn set_all(commands: Commands) {
    COMMANDS.set(commands);
}
