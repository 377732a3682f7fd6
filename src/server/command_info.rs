//! What `COMMAND INFO` and `COMMAND DOCS` say of a command.

use std::ffi::{CStr, c_int};

use redis_module::raw;

/// The description of a command.
pub(crate) struct CommandInfo {
    pub(crate) name: &'static CStr,
    /// The server's names of flags. Never `deny-oom`: that is the point.
    pub(crate) flags: &'static CStr,
    pub(crate) categories: &'static CStr,
    /// Arguments with the name; negative for at least so many.
    pub(crate) arity: c_int,
    /// First key, last key (negative from the end), step.
    pub(crate) key_positions: (c_int, c_int, c_int),
    pub(crate) summary: &'static CStr,
    pub(crate) complexity: &'static CStr,
    pub(crate) keys: &'static [KeySpec],
    pub(crate) arguments: &'static [Argument],
}

/// Keys beside one another that are used alike.
pub(crate) struct KeySpec {
    first: c_int,
    /// Counted from `first`, or negative from the end.
    last: c_int,
    flags: KeyFlags,
}

/// What happens to a key, and so the permission that a user needs.
#[derive(Clone, Copy)]
pub(crate) enum KeyFlags {
    /// Something new is written to it.
    Insert,
    /// It is written to, over what was there.
    Update,
    /// What is in it is read, moved away and put there.
    AccessDelete,
}

impl KeySpec {
    pub(crate) const fn one(at: c_int, flags: KeyFlags) -> Self {
        Self {
            first: at,
            last: 0,
            flags,
        }
    }

    pub(crate) const fn to(first: c_int, last: c_int, flags: KeyFlags) -> Self {
        Self { first, last, flags }
    }

    pub(super) fn raw(&self) -> raw::RedisModuleCommandKeySpec {
        let flags = raw::REDISMODULE_CMD_KEY_RW
            | match self.flags {
                KeyFlags::Insert => raw::REDISMODULE_CMD_KEY_INSERT,
                KeyFlags::Update => raw::REDISMODULE_CMD_KEY_UPDATE,
                KeyFlags::AccessDelete => {
                    raw::REDISMODULE_CMD_KEY_ACCESS | raw::REDISMODULE_CMD_KEY_DELETE
                }
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
    /// How often it may be given, as flags of the server; 0 is once.
    flags: u32,
    /// The keys that this argument repeats together, each with its key spec.
    repeats: &'static [(&'static CStr, c_int)],
}

impl Argument {
    const fn plain(name: &'static CStr, kind: raw::RedisModuleCommandArgType) -> Self {
        Self {
            name,
            kind,
            key_spec: -1,
            flags: 0,
            repeats: &[],
        }
    }

    pub(crate) const fn string(name: &'static CStr) -> Self {
        Self::plain(
            name,
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
        )
    }

    /// A string, or none.
    pub(crate) const fn optional_string(name: &'static CStr) -> Self {
        Self {
            flags: raw::REDISMODULE_CMD_ARG_OPTIONAL,
            ..Self::string(name)
        }
    }

    /// Strings, or none.
    pub(crate) const fn optional_strings(name: &'static CStr) -> Self {
        Self {
            flags: raw::REDISMODULE_CMD_ARG_MULTIPLE | raw::REDISMODULE_CMD_ARG_OPTIONAL,
            ..Self::string(name)
        }
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

    /// A key, and the index of its [`KeySpec`].
    pub(crate) const fn key(name: &'static CStr, key_spec: c_int) -> Self {
        Self {
            key_spec,
            ..Self::plain(
                name,
                raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY,
            )
        }
    }

    /// KeySpec that may be given again, all of them each time.
    pub(crate) const fn pairs(
        name: &'static CStr,
        repeats: &'static [(&'static CStr, c_int)],
    ) -> Self {
        Self {
            flags: raw::REDISMODULE_CMD_ARG_MULTIPLE,
            repeats,
            ..Self::plain(
                name,
                raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK,
            )
        }
    }

    /// The server's form of it. `parts` keeps what it points to.
    pub(super) fn raw(
        &self,
        parts: &mut Vec<Vec<raw::RedisModuleCommandArg>>,
    ) -> raw::RedisModuleCommandArg {
        // SAFETY: numbers and null pointers, for all of which zero is a value.
        let mut arg: raw::RedisModuleCommandArg = unsafe { std::mem::zeroed() };
        arg.name = self.name.as_ptr();
        arg.type_ = self.kind;
        arg.key_spec_index = self.key_spec;
        arg.flags = self.flags as c_int;
        if !self.repeats.is_empty() {
            let keys = self
                .repeats
                .iter()
                .map(|&(name, spec)| Self::key(name, spec));
            let mut keys: Vec<_> = keys.map(|key| key.raw(parts)).collect();
            // SAFETY: as above; a zeroed argument ends the list.
            keys.push(unsafe { std::mem::zeroed() });
            arg.subargs = keys.as_mut_ptr();
            parts.push(keys);
        }
        arg
    }
}
