//! What the server is told of a command, and how it reaches it.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::api::api;
use super::stats::{self, Counter};
use super::{Arg, Ctx, Outcome, Refusal, config};

/// A command of the module.
pub(crate) trait Command {
    /// What the server is told of it.
    const ABOUT: About;

    /// What a call counts as: the first where it did something, the other where
    /// there was nothing to do.
    const COUNTS: [&'static Counter; 2];

    /// Whether it can grow a full server, so that its operator may forbid it.
    const GROWS: bool = false;

    /// One call. The name stands first in `args`; the arity has been checked.
    fn run(ctx: &Ctx, args: &[Arg]) -> Outcome;
}

/// What `COMMAND INFO` and `COMMAND DOCS` say of a command.
pub(crate) struct About {
    pub(crate) name: &'static CStr,
    /// In the server's words. Never `deny-oom`: that is the point.
    pub(crate) flags: &'static CStr,
    pub(crate) categories: &'static CStr,
    /// Arguments with the name; negative for at least so many.
    pub(crate) arity: c_int,
    /// First key, last key (negative from the end), step.
    pub(crate) key_positions: (c_int, c_int, c_int),
    pub(crate) summary: &'static CStr,
    pub(crate) complexity: &'static CStr,
    pub(crate) keys: &'static [Keys],
    pub(crate) arguments: &'static [Argument],
}

/// Keys that stand beside one another and are used alike.
pub(crate) struct Keys {
    first: c_int,
    /// Counted from `first`, or negative from the end.
    last: c_int,
    access: Access,
}

/// What happens to a key, and so what a user must be allowed to do with it.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// Something new is written to it.
    Insert,
    /// It is written to, over what was there.
    Update,
    /// What is in it is read, moved away and put there.
    Take,
}

impl Keys {
    pub(crate) const fn one(at: c_int, access: Access) -> Self {
        Self {
            first: at,
            last: 0,
            access,
        }
    }

    pub(crate) const fn to(first: c_int, last: c_int, access: Access) -> Self {
        Self {
            first,
            last,
            access,
        }
    }

    fn raw(&self) -> raw::RedisModuleCommandKeySpec {
        let flags = raw::REDISMODULE_CMD_KEY_RW
            | match self.access {
                Access::Insert => raw::REDISMODULE_CMD_KEY_INSERT,
                Access::Update => raw::REDISMODULE_CMD_KEY_UPDATE,
                Access::Take => raw::REDISMODULE_CMD_KEY_ACCESS | raw::REDISMODULE_CMD_KEY_DELETE,
            };
        // SAFETY: numbers and null pointers, for all of which zero is a value;
        // each union is written in the form that the type beside it names.
        unsafe {
            let mut spec: raw::RedisModuleCommandKeySpec = std::mem::zeroed();
            spec.flags = flags.into();
            spec.begin_search_type =
                raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
            spec.bs.index.pos = self.first;
            spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
            spec.fk.range.lastkey = self.last;
            spec.fk.range.keystep = 1;
            spec
        }
    }
}

/// An argument, as `COMMAND DOCS` shows it.
pub(crate) struct Argument {
    name: &'static CStr,
    kind: raw::RedisModuleCommandArgType,
    key_spec: c_int,
    /// The keys that this argument repeats together, each with its key spec.
    repeats: &'static [(&'static CStr, c_int)],
}

impl Argument {
    const fn plain(name: &'static CStr, kind: raw::RedisModuleCommandArgType) -> Self {
        Self {
            name,
            kind,
            key_spec: -1,
            repeats: &[],
        }
    }

    pub(crate) const fn string(name: &'static CStr) -> Self {
        Self::plain(
            name,
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
        )
    }

    pub(crate) const fn integer(name: &'static CStr) -> Self {
        Self::plain(
            name,
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER,
        )
    }

    pub(crate) const fn double(name: &'static CStr) -> Self {
        Self::plain(
            name,
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE,
        )
    }

    /// A key, and the number of its [`Keys`].
    pub(crate) const fn key(name: &'static CStr, key_spec: c_int) -> Self {
        Self {
            key_spec,
            ..Self::plain(
                name,
                raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY,
            )
        }
    }

    /// Keys that may be given again, all of them each time.
    pub(crate) const fn pairs(
        name: &'static CStr,
        repeats: &'static [(&'static CStr, c_int)],
    ) -> Self {
        Self {
            repeats,
            ..Self::plain(
                name,
                raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK,
            )
        }
    }

    /// The server's form of it. `parts` keeps what it points to.
    fn raw(&self, parts: &mut Vec<Vec<raw::RedisModuleCommandArg>>) -> raw::RedisModuleCommandArg {
        // SAFETY: numbers and null pointers, for all of which zero is a value.
        let mut arg: raw::RedisModuleCommandArg = unsafe { std::mem::zeroed() };
        arg.name = self.name.as_ptr();
        arg.type_ = self.kind;
        arg.key_spec_index = self.key_spec;
        if !self.repeats.is_empty() {
            let keys = self
                .repeats
                .iter()
                .map(|&(name, spec)| Self::key(name, spec));
            let mut keys: Vec<_> = keys.map(|key| key.raw(parts)).collect();
            // SAFETY: as above; a zeroed argument ends the list.
            keys.push(unsafe { std::mem::zeroed() });
            arg.flags = raw::REDISMODULE_CMD_ARG_MULTIPLE as c_int;
            arg.subargs = keys.as_mut_ptr();
            parts.push(keys);
        }
        arg
    }
}

/// How the server calls a handler.
type Handler =
    unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// A row of the module's table.
pub(crate) struct Registration {
    about: About,
    handler: Handler,
}

/// The row for `C`.
pub(crate) const fn command<C: Command>() -> Registration {
    Registration {
        about: C::ABOUT,
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
    let outcome = if C::GROWS && config::growth_is_over() {
        stats::GROWTH_REFUSED.add(1);
        Err(Refusal::GrowthLimit)
    } else {
        C::run(&ctx, args)
    };
    stats::count(&C::COUNTS, &outcome);
    ctx.send(&C::ABOUT, outcome);
    raw::REDISMODULE_OK as c_int
}

/// Tells the server of a command. `Err` says what it would not take.
pub(super) fn register(
    ctx: *mut RedisModuleCtx,
    Registration { about, handler }: &Registration,
) -> Result<(), &'static str> {
    const SINCE: *const c_char = concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast();
    let (first, last, step) = about.key_positions;
    let mut keys: Vec<_> = about.keys.iter().map(Keys::raw).collect();
    let mut parts = Vec::new();
    let mut args: Vec<_> = about
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
        let name = about.name.as_ptr();
        if api!(RedisModule_CreateCommand(
            ctx,
            name,
            Some(*handler),
            about.flags.as_ptr(),
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
        let info = raw::RedisModuleCommandInfo {
            version: &version,
            summary: about.summary.as_ptr(),
            complexity: about.complexity.as_ptr(),
            since: SINCE,
            history: ptr::null_mut(),
            tips: ptr::null(),
            arity: about.arity,
            key_specs: keys.as_mut_ptr(),
            args: args.as_mut_ptr(),
        };
        if api!(RedisModule_SetCommandInfo(command, &info)) != raw::REDISMODULE_OK as c_int {
            return Err("its description is refused");
        }
        // From 7.2 on. Before, the server derives what it can from the flags.
        if let Some(set_categories) = raw::RedisModule_SetCommandACLCategories
            && set_categories(command, about.categories.as_ptr()) != raw::REDISMODULE_OK as c_int
        {
            return Err("its ACL categories are refused");
        }
    }
    Ok(())
}

impl Registration {
    /// The command's name, for a line in the log.
    pub(super) fn name(&self) -> std::borrow::Cow<'static, str> {
        self.about.name.to_string_lossy()
    }
}
