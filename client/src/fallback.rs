//! Which strategy is tried next: a state machine without I/O.
//!
//! The driver sends the call by [`strategy`](Fallback::strategy), hands the reply
//! to [`next`](Fallback::next), and repeats until there is a result. Only an
//! unknown command leads from the module to the script, and only a server that
//! will not run the script leads further. Everything else is the result: above
//! all, a call whose reply was lost is not sent again.

use redis::{RedisError, RedisResult, Value};

use crate::cache::Cache;
use crate::error_class::{ErrorClass, classify};
use crate::strategy::{CommandKind, Strategy};

/// One call on its way.
pub(crate) struct Fallback<'w> {
    cache: &'w Cache,
    kind: CommandKind,
    strategy: Strategy,
    /// The error that made the caller fall back, which it gets back if there is
    /// no further strategy.
    original_error: Option<RedisError>,
    exhausted: bool,
}

impl<'w> Fallback<'w> {
    pub(crate) fn new(
        cache: &'w Cache,
        kind: CommandKind,
        original_error: Option<RedisError>,
    ) -> Self {
        let strategy = match (kind, cache.get(kind)) {
            (CommandKind::RescueAll, Strategy::Module) => Strategy::Script,
            (_, strategy) => strategy,
        };
        Self {
            cache,
            kind,
            strategy,
            original_error,
            exhausted: false,
        }
    }

    /// Whether no strategy is left: no attempt has run anything.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// How the call is to be sent now.
    pub(crate) fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The result of the call, or `None`: it is to be sent once more.
    pub(crate) fn next(&mut self, reply: RedisResult<Value>) -> Option<RedisResult<Value>> {
        let error = match reply {
            Ok(Value::ServerError(error)) => error.into(),
            // Errors inside a reply are a part of it.
            Ok(value) => {
                self.cache.set(self.kind, self.strategy);
                return Some(Ok(value));
            }
            Err(error) => error,
        };
        let class = classify(self.kind.name(), &error);
        self.strategy = match (self.strategy, class) {
            (Strategy::Module, ErrorClass::UnknownCommand) => Strategy::Script,
            // Nobody has named this user; or may it not even ask.
            (Strategy::Module, _) if self.kind == CommandKind::Rescue && is_not_named(&error) => {
                Strategy::Script
            }
            (Strategy::Script, ErrorClass::CannotCompile | ErrorClass::Oom) => {
                Strategy::WriteFirstScript
            }
            (Strategy::Script | Strategy::WriteFirstScript, ErrorClass::NoScripts)
            | (Strategy::WriteFirstScript, ErrorClass::CannotCompile | ErrorClass::Oom) => {
                self.exhausted = true;
                self.cache.set(self.kind, self.strategy);
                return Some(Err(self.original_error.take().unwrap_or(error)));
            }
            (_, ErrorClass::ServerChanged) => {
                self.cache.clear();
                return Some(Err(error));
            }
            (strategy, _) => {
                self.cache.set(self.kind, strategy);
                return Some(Err(error));
            }
        };
        None
    }
}

/// Whether `WURK.RESCUE` does nothing for this user. Past the operator's limit it says
/// so, and that is the answer.
fn is_not_named(error: &RedisError) -> bool {
    let text = error.detail().unwrap_or("");
    match error.code() {
        Some("OOM") => !text.contains("'wurk.rescue-limit'"),
        Some("NOPERM") => text.contains("no permissions to run the 'wurk.rescue' command"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Strategy::{Module, Script, WriteFirstScript};

    const UNKNOWN: &str = "ERR unknown command 'WURK.CLAIM', with args beginning with: 'ps' ";
    const OOM: &str = "OOM command not allowed when used memory > 'maxmemory'.";
    const NO_SHEBANG: &str =
        "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";
    const NO_EVAL: &str = "NOPERM User worker has no permissions to run the 'eval' command";

    fn error(line: &str) -> RedisError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).expect("a reply");
        value.extract_error().expect_err("an error")
    }

    fn original() -> RedisError {
        redis::make_extension_error("OOM".into(), Some("the original".into()))
    }

    /// Falls back by these replies. The strategies tried, and the result.
    fn fall_back(
        cache: &Cache,
        original_error: Option<RedisError>,
        lines: &[&str],
    ) -> (Vec<Strategy>, RedisResult<Value>) {
        let mut fallback = Fallback::new(cache, CommandKind::Claim, original_error);
        let mut strategies = Vec::new();
        for line in lines {
            strategies.push(fallback.strategy());
            let reply = match *line {
                "nil" => Ok(Value::Nil),
                line => Err(error(line)),
            };
            if let Some(result) = fallback.next(reply) {
                assert_eq!(strategies.len(), lines.len(), "it stopped early");
                return (strategies, result);
            }
        }
        panic!("it wants more than {lines:?}");
    }

    #[test]
    fn each_refusal_leads_one_strategy_further() {
        for (lines, expected) in [
            (&["nil"][..], &[Module][..]),
            (&[UNKNOWN, "nil"], &[Module, Script]),
            (
                &[UNKNOWN, NO_SHEBANG, "nil"],
                &[Module, Script, WriteFirstScript],
            ),
            (
                &[
                    UNKNOWN,
                    "ERR Unexpected flag in script shebang: allow-oom",
                    "nil",
                ],
                &[Module, Script, WriteFirstScript],
            ),
            (&[UNKNOWN, OOM, "nil"], &[Module, Script, WriteFirstScript]),
        ] {
            let cache = Cache::new();
            let (strategies, result) = fall_back(&cache, Some(original()), lines);
            assert_eq!(strategies, expected);
            assert_eq!(result, Ok(Value::Nil));
            // The next call begins where this one ended.
            assert_eq!(
                fall_back(&cache, None, &["nil"]).0,
                expected[expected.len() - 1..]
            );
        }
    }

    #[test]
    fn the_original_error_comes_back_if_no_strategy_is_left() {
        for lines in [
            &[UNKNOWN, NO_EVAL][..],
            &[
                UNKNOWN,
                "ERR unknown command 'EVAL', with args beginning with: ",
            ],
            &[UNKNOWN, "ERR Could not find scripting engine 'lua'"],
            &[UNKNOWN, NO_SHEBANG, NO_SHEBANG],
            &[UNKNOWN, NO_SHEBANG, NO_EVAL],
            &[UNKNOWN, NO_SHEBANG, OOM],
            &[UNKNOWN, NO_SHEBANG, "ERR Out of memory"],
            &[
                UNKNOWN,
                NO_SHEBANG,
                "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -OOM command not allowed",
            ],
            &[
                UNKNOWN,
                NO_SHEBANG,
                "@user_script: 13: -OOM command not allowed when used memory > 'maxmemory'.",
            ],
            &[
                UNKNOWN,
                "ERR ACL failure in script: User worker has no permissions to run the 'hset' command",
            ],
        ] {
            let (_, result) = fall_back(&Cache::new(), Some(original()), lines);
            assert_eq!(result, Err(original()), "{lines:?}");
            let (_, result) = fall_back(&Cache::new(), None, lines);
            assert_eq!(
                result,
                Err(error(lines[lines.len() - 1])),
                "{lines:?}: the server's own"
            );
        }
    }

    #[test]
    fn a_result_is_returned_by_every_strategy() {
        for answer in [
            "READONLY You can't write against a read only replica.",
            "MOVED 3999 127.0.0.1:6381",
            "ASK 3999 127.0.0.1:6381",
            "CROSSSLOT Keys in request don't hash to the same slot",
            "CLUSTERDOWN The cluster is down",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "MISCONF Errors writing to the AOF file",
            "NOREPLICAS Not enough good replicas to write.",
            "LOADING Redis is loading the dataset in memory",
            "BUSY Redis is busy running a script.",
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "NOPERM No permissions to access a key",
            "NOPERM User worker has no permissions to run the 'wurk.claim' command",
            "EXECABORT Transaction discarded because of previous errors.",
            "ERR unknown command 'LMOVE', with args beginning with: ",
            "WHATEVER nobody has heard of",
        ] {
            // As it is, and in the formats of a script before 7.0.
            let formats = [
                answer.to_owned(),
                format!(
                    "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -{answer}"
                ),
                format!("@user_script: 13: -{answer}"),
            ];
            for before in [&[][..], &[UNKNOWN], &[UNKNOWN, NO_SHEBANG]] {
                for answer in &formats {
                    let lines = [before, &[answer]].concat();
                    let (_, result) = fall_back(&Cache::new(), Some(original()), &lines);
                    assert_eq!(result, Err(error(answer)), "{lines:?}");
                }
            }
        }
        // The module's own OOM, of the growth limit.
        assert_eq!(
            fall_back(&Cache::new(), Some(original()), &[OOM]).1,
            Err(error(OOM))
        );
    }

    #[test]
    fn a_call_whose_reply_was_lost_is_not_sent_again() {
        use std::io::{Error, ErrorKind};
        for kind in [
            ErrorKind::BrokenPipe,
            ErrorKind::ConnectionReset,
            ErrorKind::TimedOut,
            ErrorKind::WouldBlock,
            ErrorKind::UnexpectedEof,
        ] {
            let cache = Cache::new();
            assert!(fall_back(&cache, None, &[UNKNOWN, "nil"]).1.is_ok());
            let mut fallback = Fallback::new(&cache, CommandKind::Claim, Some(original()));
            let result = fallback
                .next(Err(Error::from(kind).into()))
                .expect("no second try");
            assert!(result.expect_err("an error").is_io_error(), "{kind}");
            // The next connection may lead to another server.
            assert_eq!(cache.get(CommandKind::Claim), Module, "{kind}");
        }
    }
}
