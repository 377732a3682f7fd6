//! What a command does with its keys, from the key specs that `COMMAND` shows.
//!
//! `RM_GetCommandKeysWithFlags` says where the keys of a command are, but not what
//! the command does with them if they are found by key specs.

use std::ffi::c_int;

use redis_module::raw;

use super::arg::Arg;
use super::call_reply::CallReply;

/// Where the keys of a spec begin.
enum Begin {
    Index(i64),
    Keyword { keyword: Vec<u8>, start: i64 },
}

/// Which keys follow the first one.
enum Find {
    Range { last: i64, step: i64, limit: i64 },
    Count { index: i64, first: i64, step: i64 },
}

/// A key spec.
pub(super) struct KeyFlags {
    flags: c_int,
    begin: Begin,
    find: Find,
}

/// The names of flags, as `COMMAND` shows them.
const NAMES: [(&[u8], u32); 10] = [
    (b"RO", raw::REDISMODULE_CMD_KEY_RO),
    (b"RW", raw::REDISMODULE_CMD_KEY_RW),
    (b"OW", raw::REDISMODULE_CMD_KEY_OW),
    (b"RM", raw::REDISMODULE_CMD_KEY_RM),
    (b"access", raw::REDISMODULE_CMD_KEY_ACCESS),
    (b"update", raw::REDISMODULE_CMD_KEY_UPDATE),
    (b"insert", raw::REDISMODULE_CMD_KEY_INSERT),
    (b"delete", raw::REDISMODULE_CMD_KEY_DELETE),
    (b"not_key", raw::REDISMODULE_CMD_KEY_NOT_KEY),
    (b"variable_flags", raw::REDISMODULE_CMD_KEY_VARIABLE_FLAGS),
];

impl KeyFlags {
    /// Reads a spec of the reply to `COMMAND`. `None` if its keys are not to be
    /// found by it.
    pub(super) fn read(spec: &CallReply) -> Option<Self> {
        let flags = spec.field(b"flags")?;
        let flags = flags.items().filter_map(|flag| {
            let known = NAMES.iter().find(|(name, _)| *name == flag.bytes());
            known.map(|(_, flag)| *flag)
        });
        let flags = flags.fold(0, |all, flag| all | flag);
        let begin = spec.field(b"begin_search")?;
        let place = begin.field(b"spec")?;
        let number = |of: &CallReply, name: &[u8]| Some(of.field(name)?.integer());
        let begin = match begin.field(b"type")?.bytes() {
            b"index" => Begin::Index(number(&place, b"index")?),
            b"keyword" => Begin::Keyword {
                keyword: place.field(b"keyword")?.bytes().to_vec(),
                start: number(&place, b"startfrom")?,
            },
            _ => return None,
        };
        let find = spec.field(b"find_keys")?;
        let keys = find.field(b"spec")?;
        let find = match find.field(b"type")?.bytes() {
            b"range" => Find::Range {
                last: number(&keys, b"lastkey")?,
                step: number(&keys, b"keystep")?,
                limit: number(&keys, b"limit")?,
            },
            b"keynum" => Find::Count {
                index: number(&keys, b"keynumidx")?,
                first: number(&keys, b"firstkey")?,
                step: number(&keys, b"keystep")?,
            },
            _ => return None,
        };
        Some(Self {
            flags: c_int::try_from(flags).ok()?,
            begin,
            find,
        })
    }

    /// The flags of the key at this place, if it is one of this spec's.
    pub(super) fn at(&self, place: i64, args: &[Arg]) -> Option<c_int> {
        let (first, last, step) = self.range(args)?;
        let is_key =
            (first..=last).contains(&place) && place.checked_sub(first)?.checked_rem(step)? == 0;
        is_key.then_some(self.flags)
    }

    fn range(&self, args: &[Arg]) -> Option<(i64, i64, i64)> {
        let count = i64::try_from(args.len()).ok()?;
        let at = |place: i64| args.get(usize::try_from(place).ok()?);
        let begin = match &self.begin {
            Begin::Index(index) => *index,
            Begin::Keyword { keyword, start } => {
                let is_keyword = |place: &i64| {
                    at(*place).is_some_and(|arg| arg.bytes().eq_ignore_ascii_case(keyword))
                };
                let found = if *start >= 0 {
                    (*start..count).find(is_keyword)
                } else {
                    (1..=count.checked_add(*start)?).rev().find(is_keyword)
                };
                found?.checked_add(1)?
            }
        };
        Some(match self.find {
            Find::Range { last, step, limit } => {
                let last = if last >= 0 {
                    begin.checked_add(last)?
                } else if limit <= 1 {
                    count.checked_add(last)?
                } else {
                    let part = count.checked_sub(begin)?.checked_div(limit)?;
                    begin.checked_add(part)?.checked_add(last)?
                };
                (begin, last, step)
            }
            Find::Count { index, first, step } => {
                let keys = at(begin.checked_add(index)?)?.integer()?;
                let first = begin.checked_add(first)?;
                let more = keys.checked_sub(1)?.checked_mul(step)?;
                (first, first.checked_add(more)?, step)
            }
        })
    }
}
