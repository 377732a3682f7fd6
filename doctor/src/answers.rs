//! What the server replied.

use std::collections::HashMap;

use redis::{Connection, FromRedisValue, RedisResult, ToRedisArgs};

use crate::permissions::Permission;
use crate::state::{Writes, code, is_lost, is_state};

/// Why a named user is not rescued, or more is than it should.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is the user of clients that have not logged in.
    Default,
    Missing,
    /// It is disabled.
    Off,
    /// No client is logged in as it.
    Absent,
    /// It may not run `WURK.RESCUE`.
    Denied,
    /// It may run nothing that a full server refuses.
    Powerless,
    /// It may not run these moves between lists.
    Moves(Vec<&'static str>),
}

/// The replies. `None` if the user may not run the command, or the server's state
/// keeps it from being answered.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The sections of `INFO` that the user may see.
    pub(crate) info: Option<HashMap<String, String>>,
    /// Parameters by `CONFIG GET`.
    pub(crate) config: Option<HashMap<String, String>>,
    /// The module's version as a number; 0 if it is not loaded.
    pub(crate) module: Option<i64>,
    /// The user's name.
    pub(crate) user: Option<String>,
    /// How writes are taken.
    pub(crate) writes: Option<Writes>,
    /// The permission for each of the module's commands; empty if none was tried.
    pub(crate) permissions: Vec<(&'static str, Permission)>,
    /// The problems of the users in `wurk.rescue-users`.
    pub(crate) rescued: Option<Vec<(String, Problem)>>,
    /// Why scripts would not run; `None` if they would.
    pub(crate) scripts: Option<String>,
    /// Whether scripts can be flagged, if running one has shown it.
    pub(crate) flags: Option<bool>,
    /// The commands that failed because of the server's state, with that state.
    pub(crate) failed: HashMap<&'static str, String>,
}

impl Answers {
    /// Runs a command. Nothing if the user may not run it, the server does not
    /// know it, or is in a state that keeps it from answering.
    pub(crate) fn ask<T: FromRedisValue>(
        &mut self,
        con: &mut Connection,
        name: &'static str,
        args: &[impl ToRedisArgs],
    ) -> RedisResult<Option<T>> {
        match redis::cmd(name).arg(args).query(con) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if is_lost(&error) => Err(error),
            Err(error) => {
                if is_state(&error) {
                    self.failed.insert(name, code(&error));
                }
                Ok(None)
            }
        }
    }

    /// A field of `INFO`.
    pub(crate) fn info(&self, field: &str) -> Option<&str> {
        self.info.as_ref()?.get(field).map(String::as_str)
    }

    /// A field of `INFO` that is a number.
    pub(crate) fn number(&self, field: &str) -> Option<f64> {
        self.info(field)?.parse().ok()
    }

    /// A parameter of `CONFIG GET`: `None` if it could not be read, `Some(None)` if
    /// the server has no such parameter.
    pub(crate) fn config(&self, name: &str) -> Option<Option<&str>> {
        let config = self.config.as_ref()?;
        Some(config.get(name).map(String::as_str))
    }

    /// The server's name and version.
    pub(crate) fn name_and_version(&self) -> Option<(&'static str, &str)> {
        [
            ("Valkey", "valkey_version"),
            ("Redict", "redict_version"),
            ("Redis", "redis_version"),
        ]
        .into_iter()
        .find_map(|(name, field)| Some((name, self.info(field)?)))
    }

    /// Whether scripts can be flagged `allow-oom`, if that is known.
    pub(crate) fn has_flags(&self) -> Option<bool> {
        if self.flags.is_some() {
            return self.flags;
        }
        let (name, version) = self.name_and_version()?;
        let major: u32 = version.split('.').next()?.parse().ok()?;
        Some(name != "Redis" || major >= 7)
    }

    /// The permission for `WURK.CLAIM`.
    pub(crate) fn claim_permission(&self) -> Option<Permission> {
        self.permissions
            .iter()
            .find(|(name, _)| *name == "WURK.CLAIM")
            .map(|(_, permission)| *permission)
    }
}
