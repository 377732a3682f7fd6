//! The arguments of the module, as they stand in its `loadmodule` line.

use std::ffi::{CStr, CString};

use redis_module::RedisString;

use super::limits::MOST;

pub(super) const GROWTH_LIMIT: &CStr = c"growth-limit";
pub(super) const RESCUE_LIMIT: &CStr = c"rescue-limit";
pub(super) const RESCUE_USERS: &CStr = c"rescue-users";

/// The settings until the server's configuration sets them.
pub(super) struct Settings {
    pub(super) growth_limit: i64,
    pub(super) rescue_limit: i64,
    pub(super) rescue_users: CString,
}

/// Reads the arguments.
pub(super) fn read(args: &[RedisString]) -> Result<Settings, String> {
    let mut settings = Settings {
        growth_limit: 0,
        rescue_limit: 10,
        rescue_users: CString::default(),
    };
    let mut rest = args;
    while let [name, values @ ..] = rest {
        let found = values.iter().position(|value| is_name(value.as_slice()));
        let (values, next) = values.split_at(found.unwrap_or(values.len()));
        match (name.as_slice(), values) {
            (name, [value]) if name == GROWTH_LIMIT.to_bytes() => {
                settings.growth_limit = percentage(GROWTH_LIMIT, value.as_slice())?;
            }
            (name, [value]) if name == RESCUE_LIMIT.to_bytes() => {
                settings.rescue_limit = percentage(RESCUE_LIMIT, value.as_slice())?;
            }
            // As many words as there are: `CONFIG REWRITE` writes the arguments of a
            // module without quotes, and the server would not start again.
            (name, names) if name == RESCUE_USERS.to_bytes() => {
                let names: Vec<_> = names.iter().map(RedisString::as_slice).collect();
                settings.rescue_users = CString::new(names.join(&b' '))
                    .map_err(|_| "rescue-users: a user's name holds no NUL".to_owned())?;
            }
            _ => return Err(unknown(args)),
        }
        rest = next;
    }
    Ok(settings)
}

/// Whether this argument is the name of a setting.
fn is_name(argument: &[u8]) -> bool {
    let names = [GROWTH_LIMIT, RESCUE_LIMIT, RESCUE_USERS];
    names.iter().any(|name| name.to_bytes() == argument)
}

fn percentage(name: &CStr, value: &[u8]) -> Result<i64, String> {
    let value = String::from_utf8_lossy(value);
    let limit = value
        .parse()
        .ok()
        .filter(|limit| (0..=MOST).contains(limit));
    limit.ok_or_else(|| {
        let name = name.to_string_lossy();
        format!("{name} takes a percentage from 0 to {MOST}, found {value:?}")
    })
}

fn unknown(args: &[RedisString]) -> String {
    let texts = args
        .iter()
        .map(|arg| String::from_utf8_lossy(arg.as_slice()));
    let found = texts.collect::<Vec<_>>().join(" ");
    format!(
        "its arguments are 'growth-limit <percent>', 'rescue-limit <percent>' and \
         'rescue-users <name> ...', found {found:?}"
    )
}
