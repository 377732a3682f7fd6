//! The ways to make a claim, and two baselines.

use wurk_client::scripts::{self, Script};
use wurk_testkit::Resp;

/// A way to make a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Baseline: `EXISTS` with the same arguments, which costs what they cost to parse.
    Exists,
    /// Baseline: one `LMOVE`, without heartbeat, for one queue.
    Lmove,
    Wurk,
    /// `WURK.BCLAIM` on queues that hold a job.
    Bclaim,
    Eval,
    Evalsha,
    Fcall,
    /// The server's own commands, sent together: for a claim `HSET`, `EXPIRE` and an
    /// `LMOVE` for each queue.
    Plain,
}

impl Engine {
    pub(crate) const CLAIMS: [Self; 8] = [
        Self::Exists,
        Self::Lmove,
        Self::Wurk,
        Self::Bclaim,
        Self::Eval,
        Self::Evalsha,
        Self::Fcall,
        Self::Plain,
    ];
    /// The engines for the other commands.
    pub(crate) const CALLS: [Self; 5] = [
        Self::Wurk,
        Self::Eval,
        Self::Evalsha,
        Self::Fcall,
        Self::Plain,
    ];

    /// The engine's row in a table of [`CLAIMS`](Self::CLAIMS).
    pub(crate) fn row(self) -> usize {
        let mut claims = Self::CLAIMS.iter();
        claims.position(|engine| *engine == self).unwrap_or(0)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exists => "EXISTS",
            Self::Lmove => "LMOVE",
            Self::Wurk => "WURK.CLAIM",
            Self::Bclaim => "WURK.BCLAIM",
            Self::Eval => "EVAL",
            Self::Evalsha => "EVALSHA",
            Self::Fcall => "FCALL",
            Self::Plain => "plain commands",
        }
    }

    /// The commands of one call of `script`'s command, by this engine.
    pub(crate) fn call(
        self,
        script: &Script,
        keys: &[Vec<u8>],
        args: &[Vec<u8>],
    ) -> Vec<Vec<Vec<u8>>> {
        let all = || keys.iter().chain(args).cloned();
        let with = |prefix: Vec<Vec<u8>>| vec![prefix.into_iter().chain(all()).collect()];
        let count = keys.len().to_string().into_bytes();
        match self {
            Self::Exists => with(vec![b"EXISTS".to_vec()]),
            Self::Wurk => with(vec![script.command.into()]),
            Self::Bclaim => {
                let mut call = with(vec![b"WURK.BCLAIM".to_vec()]);
                call.iter_mut()
                    .for_each(|command: &mut Vec<Vec<u8>>| command.push(b"1".to_vec()));
                call
            }
            Self::Eval => with(vec![b"EVAL".to_vec(), script.text.into(), count]),
            Self::Evalsha => with(vec![b"EVALSHA".to_vec(), sha(script).into(), count]),
            Self::Fcall => with(vec![b"FCALL".to_vec(), function(script).into(), count]),
            Self::Lmove => vec![lmove(&keys[keys.len() - 2..])],
            Self::Plain => plain(script, keys, args),
        }
    }
}

fn plain(script: &Script, keys: &[Vec<u8>], args: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Vec<_>>();
    match script.command {
        "WURK.REQUEUE" => vec![
            words(&[b"RPUSH", &keys[1], &args[0]]),
            words(&[b"LREM", &keys[0], b"1", &args[0]]),
        ],
        "WURK.LOCK" => vec![words(&[b"SET", &keys[0], b"1", b"NX", b"PX", &args[0]])],
        "WURK.ZADD" => vec![words(&[b"ZADD", &keys[0], &args[0], &args[1]])],
        _ => {
            let field = words(&[b"HSET", &keys[1], b"beat", &args[1]]);
            let expire = words(&[b"EXPIRE", &keys[1], &args[2]]);
            let moves = keys[2..].chunks(2).map(lmove);
            [field, expire].into_iter().chain(moves).collect()
        }
    }
}

fn lmove(pair: &[Vec<u8>]) -> Vec<Vec<u8>> {
    [
        b"LMOVE",
        pair[0].as_slice(),
        pair[1].as_slice(),
        b"RIGHT",
        b"LEFT",
    ]
    .map(<[u8]>::to_vec)
    .to_vec()
}

/// Loads the scripts and the functions into the server.
pub(crate) fn prepare(con: &mut Resp) {
    let mut library = String::from("#!lua name=wurk\n");
    for script in scripts::ALL {
        con.call(&["SCRIPT", "LOAD", script.text]);
        let (_, body) = script.text.split_once('\n').unwrap_or(("", script.text));
        library += &format!(
            "redis.register_function{{function_name='{}', flags={{'allow-oom'}}, callback=function(KEYS, ARGV)\n{body}\nend}}\n",
            function(script)
        );
    }
    let loaded = con.call(&["FUNCTION", "LOAD", "REPLACE", &library]);
    assert!(loaded.error().is_none(), "{loaded}");
}

fn function(script: &Script) -> String {
    script.command.to_lowercase().replace('.', "_")
}

/// The digest that `EVALSHA` takes.
fn sha(script: &Script) -> String {
    sha1_smol::Sha1::from(script.text).digest().to_string()
}
