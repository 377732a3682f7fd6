//! A server's wire, byte for byte.
//!
//! A client library hides what is tested here: which kind of nil a reply is,
//! and whether the stream behind it is still in step.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A reply, as it stood on the wire.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// `+OK`
    Status(String),
    /// `-ERR ...`, without the dash.
    Error(String),
    /// `:1`
    Integer(i64),
    /// `$3`, any bytes.
    Bulk(Vec<u8>),
    /// `$-1`, `*-1` or `_`, and which.
    Nil(&'static str),
    /// `*2`, `~2`; a map is the list of its keys and values.
    Array(Vec<Reply>),
    /// `>2`, what the server sends unasked.
    Push(Vec<Reply>),
    /// Anything else of RESP3, as text.
    Other(String),
}

/// A connection.
pub struct Resp {
    reader: BufReader<Box<dyn ReadWrite>>,
}

trait ReadWrite: Read + Write + Send {
    /// How long a read may take.
    fn patience(&self, patience: Option<Duration>) -> io::Result<()>;
}
impl ReadWrite for TcpStream {
    fn patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(patience)
    }
}
impl ReadWrite for UnixStream {
    fn patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(patience)
    }
}

impl Resp {
    /// Over a unix socket.
    ///
    /// # Errors
    /// Where nobody listens there.
    pub fn unix(socket: &Path) -> io::Result<Self> {
        Self::over(Box::new(UnixStream::connect(socket)?))
    }

    /// Over a port of this machine.
    ///
    /// # Errors
    /// Where nobody listens there.
    pub fn tcp(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Self::over(Box::new(stream))
    }

    fn over(stream: Box<dyn ReadWrite>) -> io::Result<Self> {
        stream.patience(Some(Duration::from_secs(60)))?;
        Ok(Self {
            reader: BufReader::new(stream),
        })
    }

    /// How long a reply may take.
    ///
    /// # Errors
    /// Where the socket does not take it.
    pub fn patience(&self, patience: Duration) -> io::Result<()> {
        self.reader.get_ref().patience(Some(patience))
    }

    /// Sends a command and reads its reply.
    ///
    /// # Panics
    /// Where the connection fails: the server is gone.
    pub fn call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Reply {
        self.try_call(args).unwrap_or_else(|error| {
            let args: Vec<_> = args
                .iter()
                .map(|arg| arg.as_ref().escape_ascii().to_string())
                .collect();
            panic!("no reply to {}: {error}", args.join(" "))
        })
    }

    /// Sends a command given as one line, its words between spaces.
    ///
    /// # Panics
    /// Where the connection fails.
    pub fn say(&mut self, line: &str) -> Reply {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Sends a command that must not be refused.
    ///
    /// # Panics
    /// Where it is, or the connection fails.
    pub fn must(&mut self, line: &str) -> Reply {
        let reply = self.say(line);
        assert!(!matches!(reply, Reply::Error(_)), "{line}: {reply}");
        reply
    }

    /// A number that `INFO` shows in a section.
    ///
    /// # Panics
    /// Where it shows none of that name, or the connection fails.
    pub fn info(&mut self, section: &str, field: &str) -> i64 {
        let info = self.say(&format!("INFO {section}"));
        let text = String::from_utf8_lossy(info.bytes().unwrap_or_default());
        let mut lines = text.lines();
        lines
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .and_then(|value| value.trim().parse().ok())
            .unwrap_or_else(|| panic!("no number {field} in INFO {section}"))
    }

    /// As [`call`](Self::call).
    ///
    /// # Errors
    /// Where the connection fails.
    pub fn try_call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Reply> {
        self.send(args)?;
        self.read()
    }

    /// Sends a command only.
    ///
    /// # Errors
    /// Where the connection fails.
    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<()> {
        let mut wire = Vec::new();
        write!(wire, "*{}\r\n", args.len())?;
        for arg in args {
            let arg = arg.as_ref();
            write!(wire, "${}\r\n", arg.len())?;
            wire.extend_from_slice(arg);
            wire.extend_from_slice(b"\r\n");
        }
        self.reader.get_mut().write_all(&wire)
    }

    /// Sends bytes as they are: commands that were packed before.
    ///
    /// # Errors
    /// Where the connection fails.
    pub fn send_raw(&mut self, wire: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(wire)
    }

    /// Reads one reply, or a push.
    ///
    /// # Errors
    /// Where the connection fails, or what comes is no RESP.
    pub fn read(&mut self) -> io::Result<Reply> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        let Some((kind, rest)) = line.strip_suffix(b"\r\n").and_then(<[u8]>::split_first) else {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("{line:?}"),
            ));
        };
        let text = || String::from_utf8_lossy(rest).into_owned();
        let number = || text().parse::<i64>().map_err(|_| out_of_step(&line));
        Ok(match kind {
            b'+' => Reply::Status(text()),
            b'-' => Reply::Error(text()),
            b':' => Reply::Integer(number()?),
            b'_' => Reply::Nil("_"),
            b'$' | b'=' | b'!' => match usize::try_from(number()?) {
                Ok(length) => self.bulk(length)?,
                Err(_) => Reply::Nil("$-1"),
            },
            b'*' | b'~' | b'%' | b'>' => match usize::try_from(number()?) {
                Ok(length) => {
                    let length = if *kind == b'%' { 2 * length } else { length };
                    let items = (0..length)
                        .map(|_| self.read())
                        .collect::<io::Result<_>>()?;
                    if *kind == b'>' {
                        Reply::Push(items)
                    } else {
                        Reply::Array(items)
                    }
                }
                Err(_) => Reply::Nil("*-1"),
            },
            b',' | b'#' | b'(' => Reply::Other(text()),
            _ => return Err(out_of_step(&line)),
        })
    }

    fn bulk(&mut self, length: usize) -> io::Result<Reply> {
        let mut bytes = vec![0; length + 2];
        self.reader.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(Reply::Bulk(bytes))
    }
}

fn out_of_step(line: &[u8]) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("no RESP: {}", line.escape_ascii()),
    )
}

impl Reply {
    /// The text of an error.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Error(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, also one that is sent as text.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(n) => Some(*n),
            Self::Bulk(_) | Self::Status(_) => {
                self.bytes()?.escape_ascii().to_string().parse().ok()
            }
            _ => None,
        }
    }

    /// The bytes of a string.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bulk(bytes) => Some(bytes),
            Self::Status(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// What is in an array; nothing for all else.
    #[must_use]
    pub fn items(&self) -> &[Reply] {
        match self {
            Self::Array(items) | Self::Push(items) => items,
            _ => &[],
        }
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil(_))
    }
}

/// As a person would write it down: `OK`, `(integer) 1`, `"job"`, `nil`,
/// `[(integer) 1, "job"]`.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(text) | Self::Error(text) | Self::Other(text) => f.write_str(text),
            Self::Integer(n) => write!(f, "(integer) {n}"),
            Self::Bulk(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Self::Nil(_) => f.write_str("nil"),
            Self::Array(items) | Self::Push(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil(which) => write!(f, "nil as {which}"),
            _ => fmt::Display::fmt(self, f),
        }
    }
}
