//! Which road is tried next: a state machine without I/O.
//!
//! Whoever drives it sends the call by [`road`](Ladder::road), hands the reply
//! to [`next`](Ladder::next), and does so again until there is a result. Only
//! an unknown command leads from the module to the script, and only a server
//! that will not run the script leads further. Everything else is the answer:
//! above all, a call whose reply was lost is not sent again.

use redis::{RedisError, RedisResult, Value};

use crate::calls::Kind;
use crate::refusal::{Refusal, read};
use crate::route::{Road, Wurk};

/// One call on its way.
pub(crate) struct Ladder<'w> {
    wurk: &'w Wurk,
    kind: Kind,
    road: Road,
    /// What sent the caller here, and what it gets back where no road leads on.
    own: Option<RedisError>,
}

impl<'w> Ladder<'w> {
    pub(crate) fn new(wurk: &'w Wurk, kind: Kind, own: Option<RedisError>) -> Self {
        Self {
            wurk,
            kind,
            road: wurk.road(kind),
            own,
        }
    }

    /// How the call is to be sent now.
    pub(crate) fn road(&self) -> Road {
        self.road
    }

    /// The result of the call, or nothing: it is to be sent once more.
    pub(crate) fn next(&mut self, reply: RedisResult<Value>) -> Option<RedisResult<Value>> {
        let error = match reply.and_then(Value::extract_error) {
            Ok(value) => {
                self.wurk.learn(self.kind, self.road);
                return Some(Ok(value));
            }
            Err(error) => error,
        };
        let refusal = read(self.kind.command(), &error);
        self.road = match (self.road, refusal) {
            (Road::Module, Refusal::UnknownCommand) => Road::Script,
            (Road::Script, Refusal::CannotCompile | Refusal::Oom) => Road::ScriptBehindAWrite,
            (Road::Script | Road::ScriptBehindAWrite, Refusal::NoScripts)
            | (Road::ScriptBehindAWrite, Refusal::CannotCompile | Refusal::Oom) => {
                self.wurk.learn(self.kind, self.road);
                return Some(Err(self.own.take().unwrap_or(error)));
            }
            (_, Refusal::Moved) => {
                self.wurk.forget();
                return Some(Err(error));
            }
            (road, _) => {
                self.wurk.learn(self.kind, road);
                return Some(Err(error));
            }
        };
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Road::{Module, Script, ScriptBehindAWrite};

    const UNKNOWN: &str = "ERR unknown command 'WURK.CLAIM', with args beginning with: 'ps' ";
    const OOM: &str = "OOM command not allowed when used memory > 'maxmemory'.";
    const NO_SHEBANG: &str =
        "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";
    const NO_EVAL: &str = "NOPERM User worker has no permissions to run the 'eval' command";

    fn error(line: &str) -> RedisError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).expect("a reply");
        value.extract_error().expect_err("an error")
    }

    fn own() -> RedisError {
        redis::make_extension_error("OOM".into(), Some("the caller's own".into()))
    }

    /// Climbs by these replies. The roads taken, and the result.
    fn climb(
        wurk: &Wurk,
        own: Option<RedisError>,
        lines: &[&str],
    ) -> (Vec<Road>, RedisResult<Value>) {
        let mut ladder = Ladder::new(wurk, Kind::Claim, own);
        let mut roads = Vec::new();
        for line in lines {
            roads.push(ladder.road());
            let reply = match *line {
                "nil" => Ok(Value::Nil),
                line => Err(error(line)),
            };
            if let Some(result) = ladder.next(reply) {
                assert_eq!(roads.len(), lines.len(), "it has stopped early");
                return (roads, result);
            }
        }
        panic!("it wants more than {lines:?}");
    }

    #[test]
    fn each_refusal_leads_one_road_further() {
        for (lines, expected) in [
            (&["nil"][..], &[Module][..]),
            (&[UNKNOWN, "nil"], &[Module, Script]),
            (
                &[UNKNOWN, NO_SHEBANG, "nil"],
                &[Module, Script, ScriptBehindAWrite],
            ),
            (
                &[
                    UNKNOWN,
                    "ERR Unexpected flag in script shebang: allow-oom",
                    "nil",
                ],
                &[Module, Script, ScriptBehindAWrite],
            ),
            (
                &[UNKNOWN, OOM, "nil"],
                &[Module, Script, ScriptBehindAWrite],
            ),
        ] {
            let wurk = Wurk::new();
            let (roads, result) = climb(&wurk, Some(own()), lines);
            assert_eq!(roads, expected);
            assert_eq!(result, Ok(Value::Nil));
            // The next call begins where this one ended.
            assert_eq!(
                climb(&wurk, None, &["nil"]).0,
                expected[expected.len() - 1..]
            );
        }
    }

    #[test]
    fn where_no_road_leads_on_the_callers_own_error_comes_back() {
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
            let (_, result) = climb(&Wurk::new(), Some(own()), lines);
            assert_eq!(result, Err(own()), "{lines:?}");
            let (_, result) = climb(&Wurk::new(), None, lines);
            assert_eq!(
                result,
                Err(error(lines[lines.len() - 1])),
                "{lines:?}: the server's own"
            );
        }
    }

    #[test]
    fn an_answer_is_returned_by_every_road() {
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
            // As it is, and in the dresses of a script before 7.0.
            let dresses = [
                answer.to_owned(),
                format!(
                    "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -{answer}"
                ),
                format!("@user_script: 13: -{answer}"),
            ];
            for before in [&[][..], &[UNKNOWN], &[UNKNOWN, NO_SHEBANG]] {
                for answer in &dresses {
                    let lines = [before, &[answer]].concat();
                    let (_, result) = climb(&Wurk::new(), Some(own()), &lines);
                    assert_eq!(result, Err(error(answer)), "{lines:?}");
                }
            }
        }
        // The module's own OOM, of a brake that its operator has set.
        assert_eq!(climb(&Wurk::new(), Some(own()), &[OOM]).1, Err(error(OOM)));
    }

    #[test]
    fn a_lost_reply_is_never_asked_for_again() {
        use std::io::{Error, ErrorKind};
        for kind in [
            ErrorKind::BrokenPipe,
            ErrorKind::ConnectionReset,
            ErrorKind::TimedOut,
            ErrorKind::WouldBlock,
            ErrorKind::UnexpectedEof,
        ] {
            let wurk = Wurk::new();
            assert!(climb(&wurk, None, &[UNKNOWN, "nil"]).1.is_ok());
            let mut ladder = Ladder::new(&wurk, Kind::Claim, Some(own()));
            let result = ladder
                .next(Err(Error::from(kind).into()))
                .expect("no second try");
            assert!(result.expect_err("an error").is_io_error(), "{kind}");
            // Behind the next connection another server may stand.
            assert_eq!(wurk.road(Kind::Claim), Module, "{kind}");
        }
    }
}
