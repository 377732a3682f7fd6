//! What an error means, read from its text, which differs between servers.

use redis::{ErrorKind, RedisError, ServerErrorKind};

mod unknown;

use unknown::{names_unknown, names_unsupported};

/// What an error means for the strategy that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    /// The server does not know the command that was sent.
    UnknownCommand,
    /// The server cannot read the first line of the script.
    CannotCompile,
    /// The server, or this user on it, runs no scripts.
    NoScripts,
    /// There is no memory for what was asked.
    Oom,
    /// The connection is gone, or its server is no longer the one it was.
    ServerChanged,
    /// Anything else: the result of the call.
    Other,
}

/// Whether `error` says that the server is out of memory: the one that a worker
/// takes to [`Wurk`](crate::Wurk).
///
/// It is read from the server's text: the code `OOM` (Redis, Valkey, KeyDB), one
/// inside the error of a script (before 7.0), or Dragonfly's `Out of memory`. Of
/// a pipeline or a transaction it is enough that one command was refused so.
///
/// ```
/// let error = redis::make_extension_error(
///     "OOM".into(),
///     Some("command not allowed when used memory > 'maxmemory'.".into()),
/// );
/// assert!(wurk_client::is_oom(&error));
/// ```
#[must_use]
pub fn is_oom(error: &RedisError) -> bool {
    if classify("", error) == ErrorClass::Oom {
        return true;
    }
    let errors = error.clone().into_server_errors();
    errors.is_some_and(|errors| {
        errors
            .iter()
            .any(|(_, error)| classify("", &error.clone().into()) == ErrorClass::Oom)
    })
}

/// What `error`, the reply to `command`, means.
pub(crate) fn classify(command: &str, error: &RedisError) -> ErrorClass {
    if error.is_connection_dropped() || error.is_connection_refusal() || error.is_timeout() {
        return ErrorClass::ServerChanged;
    }
    let text = error.detail().unwrap_or("");
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::ResponseError) => classify_err(command, text),
        ErrorKind::Server(ServerErrorKind::NoPerm)
            if text.contains("no permissions to run the 'eval' command") =>
        {
            ErrorClass::NoScripts
        }
        ErrorKind::Server(
            ServerErrorKind::ReadOnly
            | ServerErrorKind::Moved
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ClusterDown,
        ) => ErrorClass::ServerChanged,
        _ => match error.code() {
            Some("OOM") => ErrorClass::Oom,
            Some(SCRIPT_BEFORE_7) => classify_nested(text),
            // An older Envoy sends no code: this is the sentence's first word.
            Some("unsupported") => classify_err(command, &format!("unsupported {text}")),
            _ => ErrorClass::Other,
        },
    }
}

/// What servers before 7.0 put before an error that a script has met and hands
/// on: `@user_script: 13: -OOM ...`.
const SCRIPT_BEFORE_7: &str = "@user_script:";

/// An error whose code is `ERR`.
fn classify_err(command: &str, text: &str) -> ErrorClass {
    // Before 7.0, one that a script has ended with is quoted: `Error running
    // script (call to f_<sha>): @user_script:7: @user_script: 7: -OOM ...`.
    let quoted = text.strip_prefix("Error running script");
    if let Some((_, inner)) = quoted.and_then(|quoted| quoted.split_once("): ")) {
        return classify_nested(inner);
    }
    if is_out_of_memory(text) {
        ErrorClass::Oom
    } else if names_unknown(text, command) {
        ErrorClass::UnknownCommand
    } else if names_unknown(text, "EVAL")
        || names_unsupported(text, "EVAL")
        || text.starts_with("Could not find scripting engine")
        || text.starts_with("This instance has Lua scripting support disabled")
        || denies_scripts(text)
    {
        ErrorClass::NoScripts
    } else if text.starts_with("Unexpected flag in script shebang")
        || text.starts_with("allow-oom is not supported")
        || is_of_first_line(text)
    {
        ErrorClass::CannotCompile
    } else {
        ErrorClass::Other
    }
}

/// An error that a script has met, behind the lines that it came from.
fn classify_nested(text: &str) -> ErrorClass {
    let is_of_line = |c: char| c.is_ascii_digit() || matches!(c, ':' | ' ');
    let mut inner = text.trim_start_matches(is_of_line);
    while let Some(rest) = inner.strip_prefix("@user_script") {
        inner = rest.trim_start_matches(is_of_line);
    }
    let inner = inner.strip_prefix('-').unwrap_or(inner);
    if inner.starts_with("OOM ") || is_out_of_memory(inner) {
        ErrorClass::Oom
    } else if inner.starts_with("READONLY ") {
        ErrorClass::ServerChanged
    } else if denies_scripts(inner) {
        ErrorClass::NoScripts
    } else {
        ErrorClass::Other
    }
}

/// Dragonfly's words.
fn is_out_of_memory(text: &str) -> bool {
    text.starts_with("Out of memory")
}

/// Lua's words about the first line. Behind a quote would be the caller's bytes.
fn is_of_first_line(text: &str) -> bool {
    text.split_once("unexpected symbol near '#'")
        .is_some_and(|(before, _)| !before.contains(['\'', '`', '"']))
}

/// A user may not run a command inside a script. Not a right to a key: that is
/// the result, and no other strategy may get around it.
fn denies_scripts(text: &str) -> bool {
    // Up to 7.0, and from 7.2 on.
    text.starts_with("The user executing the script can't run this command")
        || text
            .strip_prefix("ACL failure in script: User ")
            .is_some_and(|user| user.contains(" has no permissions to run the '"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_error(line: &str) -> RedisError {
        let wire = format!("-{line}\r\n");
        let value = redis::parse_redis_value(wire.as_bytes()).expect("an error");
        value.extract_error().expect_err("an error")
    }

    fn class_of(line: &str) -> ErrorClass {
        classify("WURK.CLAIM", &server_error(line))
    }

    #[test]
    fn unknown_is_only_the_command_that_was_sent() {
        for line in [
            "ERR unknown command 'WURK.CLAIM', with args beginning with: 'processes' 'id' ",
            "ERR unknown command `WURK.CLAIM`, with args beginning with: `processes`, ",
            "ERR unknown command",
            "unsupported command 'wurk.claim'",
        ] {
            assert_eq!(class_of(line), ErrorClass::UnknownCommand, "{line}");
        }
        for line in [
            "ERR unknown command 'LMOVE', with args beginning with: 'WURK.CLAIM' ",
            "ERR wrong number of arguments for 'wurk.claim' command",
            "ERR command 'wurk.claim' not support for normal user",
            "unsupported command 'lmove'",
            "unknown command 'wurk.claim'",
        ] {
            assert_eq!(class_of(line), ErrorClass::Other, "{line}");
        }
    }

    /// What a caller sends may stand in an error, and mean nothing there.
    #[test]
    fn a_callers_bytes_are_no_refusal() {
        for bytes in [
            "unknown command 'WURK.CLAIM'",
            "unknown command 'EVAL'",
            "command eval not support",
            "unexpected symbol near '#'",
            "user has no permissions to run the 'eval' command",
            "This instance has Lua scripting support disabled",
            "Could not find scripting engine",
            "OOM command not allowed",
            "Out of memory",
        ] {
            for before in [
                "ERR unknown command 'LMOVE', with args beginning with: '",
                "ERR unknown command `lmove`, with args beginning with: `",
                "unsupported command 'lmove",
                "WRONGTYPE ",
                "ERR Error running script (call to f_1): @user_script:9: value '",
            ] {
                let line = format!("{before}{bytes}");
                assert_eq!(class_of(&line), ErrorClass::Other, "{line}");
            }
        }
    }

    #[test]
    fn oom_is_read_in_every_format() {
        for line in [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "OOM command not allowed when used memory > 'maxmemory'. script: 2bab3b661081db58bd2341920e0ba7cf5dc77b25, on @user_script:1.",
            "ERR Error running script (call to f_2bab3b661081db58bd2341920e0ba7cf5dc77b25): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
            "ERR Out of memory",
            "@user_script: 13: -OOM command not allowed when used memory > 'maxmemory'.",
            "ERR Error running script (call to f_2bab3b661081db58bd2341920e0ba7cf5dc77b25): @user_script:9: Out of memory",
        ] {
            assert_eq!(class_of(line), ErrorClass::Oom, "{line}");
            assert!(is_oom(&server_error(line)), "{line}");
        }
        // One of a pipeline's replies, or of what a transaction had queued.
        let wire = b"*2\r\n:1\r\n-OOM command not allowed\r\n";
        let value = redis::parse_redis_value(wire).expect("replies");
        let error = value.extract_error().expect_err("an error");
        assert!(is_oom(&error), "{error:?}");
        // A job's text in an error is no OOM.
        let line = "ERR value is not an integer: OOM command not allowed";
        assert_eq!(class_of(line), ErrorClass::Other);
    }

    #[test]
    fn a_server_without_scripts_is_known() {
        for line in [
            "ERR unknown command 'EVAL', with args beginning with: ",
            "ERR Could not find scripting engine 'lua'",
            "ERR This instance has Lua scripting support disabled",
            "ERR command eval not support for normal user",
            "unsupported command 'eval'",
            "NOPERM this user has no permissions to run the 'eval' command or its subcommand",
            "NOPERM User worker has no permissions to run the 'eval' command",
            "ERR The user executing the script can't run this command or subcommand script: 3f, on @user_script:49.",
            "ERR The user executing the script can't run this command or subcommand",
            "ERR ACL failure in script: User worker has no permissions to run the 'hset' command script: 3f, on @user_script:49.",
            "ERR ACL failure in script: User worker has no permissions to run the 'lmove' command",
            "ERR Error running script (call to f_1): @user_script:49: @user_script: 49: The user executing the script can't run this command or subcommand",
            "@user_script: 13: The user executing the script can't run this command or subcommand",
        ] {
            assert_eq!(class_of(line), ErrorClass::NoScripts, "{line}");
        }
        for line in [
            "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#' ",
            "ERR user_script:1: unexpected symbol near '#'",
            "ERR Unexpected flag in script shebang: allow-oom",
            "ERR allow-oom is not supported yet",
        ] {
            assert_eq!(class_of(line), ErrorClass::CannotCompile, "{line}");
        }
    }

    #[test]
    fn everything_else_is_the_result() {
        for line in [
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "ASK 3999 127.0.0.1:6381",
            "CROSSSLOT Keys in request don't hash to the same slot",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "MISCONF Errors writing to the AOF file: No space left on device",
            "NOREPLICAS Not enough good replicas to write.",
            "LOADING Redis is loading the dataset in memory",
            "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
            "NOPERM No permissions to access a key",
            "NOPERM this user has no permissions to access one of the keys used as arguments",
            "NOPERM User worker has no permissions to run the 'wurk.claim' command",
            "NOAUTH Authentication required.",
            "EXECABORT Transaction discarded because of previous errors.",
            "UNBLOCKED client unblocked via CLIENT UNBLOCK",
            "ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation against a key",
            "ERR ACL failure in script: No permissions to access a key script: 3f, on @user_script:49.",
            "@user_script: 13: -NOREPLICAS Not enough good replicas to write.",
            "@user_script: 13: -WRONGTYPE Operation against a key holding the wrong kind of value",
            "SOMETHING nobody has heard of",
        ] {
            assert_eq!(class_of(line), ErrorClass::Other, "{line}");
        }
    }

    #[test]
    fn a_server_that_is_another_now_is_seen() {
        for line in [
            "READONLY You can't write against a read only replica.",
            "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
            "@user_script: 13: -READONLY You can't write against a read only replica.",
            "MOVED 3999 127.0.0.1:6381",
            "CLUSTERDOWN The cluster is down",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        ] {
            assert_eq!(class_of(line), ErrorClass::ServerChanged, "{line}");
        }
        let broken = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(
            classify("WURK.CLAIM", &broken.into()),
            ErrorClass::ServerChanged
        );
        let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
        assert_eq!(
            classify("WURK.CLAIM", &late.into()),
            ErrorClass::ServerChanged
        );
    }
}
