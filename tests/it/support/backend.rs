//! The two backends, the module and the scripts, driven by the same tests.

use wurk_client::scripts::{CLAIM, LOCK, REQUEUE, Script, ZADD};
use wurk_testkit::{Binary, Options, Reply, Resp};

/// A way to make a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Module,
    Script,
}

pub const BACKENDS: [Backend; 2] = [Backend::Module, Backend::Script];

impl Backend {
    /// How a server is started that has it.
    pub fn options(self, binary: &Binary) -> Options {
        match self {
            Self::Module => Options::new(binary).module(),
            Self::Script => Options::new(binary),
        }
    }

    /// The command for a call.
    pub fn command<A: AsRef<[u8]>>(self, script: &Script, keys: &[A], args: &[A]) -> Vec<Vec<u8>> {
        let mut command: Vec<Vec<u8>> = match self {
            Self::Module => vec![script.command.into()],
            Self::Script => {
                vec![
                    "EVAL".into(),
                    script.text.into(),
                    keys.len().to_string().into(),
                ]
            }
        };
        command.extend(keys.iter().chain(args).map(|arg| arg.as_ref().to_vec()));
        command
    }

    /// Makes a call.
    pub fn call<A: AsRef<[u8]>>(
        self,
        con: &mut Resp,
        script: &Script,
        keys: &[A],
        args: &[A],
    ) -> Reply {
        con.call(&self.command(script, keys, args))
    }
}

/// The script that is called so in the tables: `claim`, `requeue`, `lock`, `zadd`.
pub fn script(name: &str) -> &'static Script {
    match name {
        "claim" => &CLAIM,
        "requeue" => &REQUEUE,
        "lock" => &LOCK,
        "zadd" => &ZADD,
        _ => panic!("no script is called {name}"),
    }
}

/// A reply without what may differ between module and script: in an error, the
/// name of the command in quotes, and where in a script it came from.
pub fn normalize(reply: &Reply) -> Reply {
    let Some(text) = reply.error() else {
        return reply.clone();
    };
    let text = text.split(" script: ").next().unwrap_or(text);
    let Some((before, behind)) = text.split_once(" in '") else {
        return Reply::Error(text.to_owned());
    };
    let behind = behind.split_once('\'').map_or(behind, |(_, behind)| behind);
    Reply::Error(format!("{before} in ''{behind}"))
}
