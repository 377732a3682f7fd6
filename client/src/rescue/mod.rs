//! Any command on a full server: a connection that sends again what was refused.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `blocking`, `asynchronous` | the connection, of both kinds |
//! | `carry` | a rescue on its way, without I/O |
//! | `request`, `words` | what is sent; commands as words |
//! | `full` | whether a server is full, and how full |
//! | `learned` | scripts that were loaded, keys that are watched |

#[cfg(feature = "tokio")]
mod asynchronous;
mod blocking;
mod carry;
mod full;
mod learned;
mod request;
mod words;

use std::sync::Arc;

use redis::{Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};

use crate::cache::Cache;
use crate::error_class::is_oom;
use crate::scripts::WATCHED;
use carry::Carry;
use full::Memory;
use learned::{Scripts, Watch};
use request::Request;
use words::Words;

/// The percentage above maxmemory up to which commands are rescued by default.
const LIMIT: u32 = 10;

/// What is known of a server that refuses commands: which way it takes them, whether it
/// is full, which scripts were loaded. Share it between the connections to that server;
/// a clone is cheap.
#[derive(Clone, Debug)]
pub struct Rescuer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cache: Cache,
    memory: Memory,
    scripts: Scripts,
}

impl Default for Rescuer {
    fn default() -> Self {
        Self::new()
    }
}

impl Rescuer {
    /// For a server of which nothing is known yet, with a limit of 10 percent.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(LIMIT)
    }

    /// Sets how far past maxmemory the server may be, in percent, for commands to be
    /// rescued: past it what grows is refused with the server's own error, and what
    /// only moves a job (`LMOVE`, `RPOPLPUSH`, `BLMOVE`, `BRPOPLPUSH`) goes on. 0 is no
    /// limit. The server is asked by `INFO memory`, at most once a second and only while
    /// it refuses.
    #[must_use]
    pub fn with_limit(limit: u32) -> Self {
        Self(Arc::new(Inner {
            cache: Cache::new(),
            memory: Memory::new(limit),
            scripts: Scripts::default(),
        }))
    }

    /// A connection that rescues its commands.
    #[must_use]
    pub fn wrap<C>(&self, con: C) -> Rescue<C> {
        Rescue {
            con,
            rescuer: self.clone(),
            in_cluster: false,
            watch: Watch::default(),
        }
    }

    /// The same for the connection of a cluster, where keys are declared, by which a
    /// rescue finds the slot of its command.
    #[must_use]
    pub fn wrap_cluster<C>(&self, con: C) -> Rescue<C> {
        Rescue {
            in_cluster: true,
            ..self.wrap(con)
        }
    }
}

/// A connection whose commands, of any kind, a full server does not stop: one that was
/// refused for memory is sent again by `WURK.RESCUE`, or inside a script that such a
/// server runs. Use it in place of the connection, in a worker's process alone.
///
/// It wraps blocking and asynchronous connections, and is a `ConnectionLike` itself, so
/// that a library over the `redis` crate takes it as any other.
///
/// ```no_run
/// # fn main() -> redis::RedisResult<()> {
/// use redis::Commands;
/// use wurk_client::{Rescue, redis};
///
/// let con = redis::Client::open("redis://127.0.0.1/")?.get_connection()?;
/// let mut con = Rescue::new(con);
/// let _: () = con.set("key", "value")?; // also on a full server
/// # Ok(())
/// # }
/// ```
///
/// First the command itself, as ever; only if the server refuses it with OOM:
///
/// 1. `WURK.RESCUE command`, which does it for users whom an operator has named;
/// 2. the command inside a script flagged `allow-oom`; a script of the caller's own with
///    that flag;
/// 3. before 7.0 the same after a write that changes nothing;
/// 4. the server's first error, unchanged.
///
/// - A transaction that was refused becomes one script, all or nothing. If keys are
///   watched it becomes one only if the server was known to be full at the `WATCH`, and
///   they are unchanged.
/// - Of a pipeline each refused command is rescued, in order; one that shares an
///   argument with a later one, which has run already, keeps its error. Once the server
///   is known to be full the whole is one script, in its order.
/// - `BLMOVE` and `BRPOPLPUSH` wait by asking again, up to 10 times a second.
/// - `EVALSHA` needs the script's text: one that was loaded over another connection is
///   answered once with `NOSCRIPT`, upon which clients load it. `FCALL` is not rescued:
///   a function has the flag in its own library.
/// - Integers above 2^53 are rounded in a rescued reply.
/// - What carries a command is never sent again. Whether a connection resends by itself
///   is its own affair: of a cluster connection of the `redis` crate, build the client
///   with `retries(0)`.
///
/// A command that is not refused costs nothing more over a blocking connection, and one
/// allocation over an asynchronous one.
#[derive(Clone, Debug)]
pub struct Rescue<C> {
    con: C,
    rescuer: Rescuer,
    in_cluster: bool,
    watch: Watch,
}

impl<C> Rescue<C> {
    /// Wraps a connection, with a limit of 10 percent: see [`Rescuer::with_limit`].
    #[must_use]
    pub fn new(con: C) -> Self {
        Rescuer::new().wrap(con)
    }

    /// The connection itself.
    pub fn into_inner(self) -> C {
        self.con
    }
}

impl Inner {
    /// Commands that were refused, on their way.
    fn carry<'a>(&'a self, in_cluster: bool, commands: &'a [Words], how: How<'a>) -> Carry<'a> {
        let (atomic, watched) = match how {
            How::Each => (false, [].as_slice()),
            How::All { watched } => (true, watched),
        };
        let request = Request {
            commands,
            atomic,
            watched,
            protocol: self.memory.protocol(),
            in_cluster,
        };
        Carry::new(&self.cache, &self.memory, request)
    }

    /// The commands as a script can run them.
    fn with_texts(&self, mut commands: Vec<Words>) -> Vec<Words> {
        for words in &mut commands {
            self.scripts.put_text(words);
        }
        commands
    }

    /// The commands of a pipeline, if it is to be one script from the start.
    fn whole(&self, read: impl FnOnce() -> Option<Vec<Words>>) -> Option<Vec<Words>> {
        if !self.memory.is_full() {
            return None;
        }
        let commands = self.with_texts(read()?);
        let all_run = commands.iter().all(|words| words::runs_in_a_script(words));
        (commands.len() > 1 && all_run).then_some(commands)
    }

    /// The commands of a transaction, if it is to be one script from the start: a script
    /// in it would be queued, and refused when it runs.
    fn whole_transaction(
        &self,
        watch: &Watch,
        read: impl FnOnce() -> Option<Vec<Words>>,
    ) -> Option<Vec<Words>> {
        if !self.memory.is_full() || !watch.is_known() {
            return None;
        }
        let commands = self.with_texts(read()?);
        let has_script = commands.iter().any(|words| words::is(words, &["EVAL"]));
        has_script.then_some(commands)
    }

    /// What is to be asked of keys that were watched.
    fn fingerprints(&self, keys: &[Vec<u8>]) -> Option<Cmd> {
        self.memory.is_full().then(|| {
            let mut command = redis::cmd("EVAL");
            command.arg(WATCHED).arg(keys.len()).arg(keys);
            command
        })
    }

    /// The caller's own error, or the one upon which it loads its script.
    fn refused(&self, words: &Words, own: RedisResult<Value>) -> RedisResult<Value> {
        if self.scripts.may_ask(words) {
            let text = "-NOSCRIPT No matching script. Please use EVAL.\r\n";
            return redis::parse_redis_value(text.as_bytes());
        }
        own
    }
}

/// How commands are run together.
enum How<'a> {
    Each,
    All { watched: &'a [(Vec<u8>, Vec<u8>)] },
}

/// What the reply to a command tells, besides the reply.
enum Noted<'w> {
    Loaded(&'w [u8]),
    Watched(&'w [Vec<u8>]),
    Unwatched,
}

/// What is to be noted of a command by its name.
fn is_noted(name: &[u8]) -> bool {
    match name.len() {
        5 => name.eq_ignore_ascii_case(b"WATCH"),
        6 => name.eq_ignore_ascii_case(b"SCRIPT"),
        7 => name.eq_ignore_ascii_case(b"UNWATCH"),
        _ => false,
    }
}

fn noted(words: &Words) -> Option<Noted<'_>> {
    match words.as_slice() {
        [_, keys @ ..] if words::is(words, &["WATCH"]) => Some(Noted::Watched(keys)),
        [_, load, text] if words::is(words, &["SCRIPT"]) && load.eq_ignore_ascii_case(b"LOAD") => {
            Some(Noted::Loaded(text))
        }
        [_] if words::is(words, &["UNWATCH"]) => Some(Noted::Unwatched),
        _ => None,
    }
}

/// Whether the server refused a command for memory; past an operator's limit it says so,
/// and that is the answer.
fn is_refusal(error: &RedisError) -> bool {
    is_oom(error) && !error.detail().unwrap_or("").contains("'wurk.")
}

fn value_is_refusal(value: &Value) -> bool {
    matches!(value, Value::ServerError(error) if is_refusal(&error.clone().into()))
}

fn is_refused(reply: &RedisResult<Value>) -> bool {
    match reply {
        Ok(value) => value_is_refusal(value),
        Err(error) => is_refusal(error),
    }
}

/// Whether nothing of a transaction has run, for want of memory and nothing else.
fn transaction_is_refused(reply: &RedisResult<Vec<Value>>) -> bool {
    const AT_EXEC: &str = "Transaction discarded because of: OOM ";
    let error = match reply {
        Ok(values) => match values.as_slice() {
            [Value::ServerError(error)] => error.clone().into(),
            _ => return false,
        },
        Err(error) => error.clone(),
    };
    if error.kind() != ErrorKind::Server(ServerErrorKind::ExecAbort) {
        return false;
    }
    if error.detail().is_some_and(|text| text.starts_with(AT_EXEC)) {
        return true;
    }
    let errors = error.into_server_errors();
    errors.is_some_and(|errors| {
        let mut all = errors.iter().map(|(_, error)| error.clone().into());
        !errors.is_empty() && all.all(|error| is_refusal(&error))
    })
}

/// Whether a command that was refused shares an argument with one behind it that has
/// run: that one would have met what this one does.
fn is_out_of_order(at: usize, commands: &[Words], replies: &[Value]) -> bool {
    let Some(([_, own @ ..], later)) = commands
        .get(at..)
        .and_then(<[Words]>::split_first)
        .map(|(own, later)| (own.as_slice(), later))
    else {
        return true;
    };
    let replies = replies.iter().skip(at + 1);
    later.iter().zip(replies).any(|(words, reply)| {
        !value_is_refusal(reply) && words.iter().skip(1).any(|word| own.contains(word))
    })
}

/// A server's error as a reply among others; any other error is that of the connection.
fn error_value(error: RedisError) -> RedisResult<Value> {
    let errors = error.clone().into_server_errors();
    match errors.as_deref() {
        Some([(_, error)]) => Ok(Value::ServerError(error.clone())),
        _ => Err(error),
    }
}
