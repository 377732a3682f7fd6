//! The two backends, the module and the scripts, driven by the same tests.

use wurk_client::scripts::{self, Script};
use wurk_testkit::{Binary, Options, Reply, Resp};

/// What carries out a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Module,
    Script,
}

pub const BACKENDS: [Backend; 2] = [Backend::Module, Backend::Script];

impl Backend {
    /// The options of a server that has it.
    pub fn options(self, binary: &Binary) -> Options {
        match self {
            Self::Module => Options::new(binary).module(),
            Self::Script => Options::new(binary),
        }
    }

    /// Builds the command of a call.
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

/// The script with this name in the tables: `claim` is that of `WURK.CLAIM`.
pub fn script(name: &str) -> &'static Script {
    let command = format!("WURK.{}", name.to_uppercase());
    let script = scripts::ALL
        .into_iter()
        .find(|script| script.command == command);
    script.unwrap_or_else(|| panic!("no script is called {name}"))
}

/// Removes what may differ between module and script: in an error, the name of the command
/// in quotes, and the position in the script.
pub fn normalize(reply: &Reply) -> Reply {
    let Some(text) = reply.error() else {
        return reply.clone();
    };
    let text = text.split(" script: ").next().unwrap_or(text);
    let Some((before, after)) = text.split_once(" in '") else {
        return Reply::Error(text.to_owned());
    };
    let after = after.split_once('\'').map_or(after, |(_, after)| after);
    Reply::Error(format!("{before} in ''{after}"))
}
