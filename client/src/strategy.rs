//! The ways to make a call, and the calls.

use crate::scripts::{self, Script};

/// How a call is sent to a full server, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The module's command.
    Module,
    /// The script, flagged `allow-oom`.
    Script,
    /// The script after a write that changes nothing, for servers before 7.0.
    WriteFirstScript,
}

/// Which call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    Claim,
    /// Has no script: without the module the claim is polled.
    Bclaim,
    Requeue,
    Lock,
    Zadd,
    Promote,
    Beat,
    /// Any other command.
    Rescue,
    /// Several other commands: they have no command of the module's.
    RescueAll,
}

impl CommandKind {
    pub(crate) const COUNT: usize = 9;

    /// The module's command.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bclaim => "WURK.BCLAIM",
            _ => self.script().command,
        }
    }

    /// The equivalent script.
    pub(crate) fn script(self) -> &'static Script {
        match self {
            Self::Claim | Self::Bclaim => &scripts::CLAIM,
            Self::Requeue => &scripts::REQUEUE,
            Self::Lock => &scripts::LOCK,
            Self::Zadd => &scripts::ZADD,
            Self::Promote => &scripts::PROMOTE,
            Self::Beat => &scripts::BEAT,
            Self::Rescue | Self::RescueAll => &scripts::RESCUE,
        }
    }
}
