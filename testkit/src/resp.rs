//! A connection that shows the protocol byte for byte.
//!
//! A client library hides what is tested here: which kind of nil a reply is, and
//! whether the next reply begins where this one ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::reply::Reply;

/// A connection.
pub struct Resp {
    reader: BufReader<Box<dyn ReadWrite>>,
}

trait ReadWrite: Read + Write + Send {
    /// Sets how long a read may take.
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;
}
impl ReadWrite for TcpStream {
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(timeout)
    }
}
impl ReadWrite for UnixStream {
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(timeout)
    }
}

impl Resp {
    /// Connects to a unix socket.
    ///
    /// # Errors
    /// If nothing listens there.
    pub fn unix(socket: &Path) -> io::Result<Self> {
        Self::over(Box::new(UnixStream::connect(socket)?))
    }

    /// Connects to a port of this machine.
    ///
    /// # Errors
    /// If nothing listens there.
    pub fn tcp(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Self::over(Box::new(stream))
    }

    fn over(stream: Box<dyn ReadWrite>) -> io::Result<Self> {
        stream.set_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self {
            reader: BufReader::new(stream),
        })
    }

    /// Sets how long a reply may take.
    ///
    /// # Errors
    /// If the socket refuses it.
    pub fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.reader.get_ref().set_timeout(Some(timeout))
    }

    /// Sends a command and reads its reply.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Reply {
        self.try_call(args).unwrap_or_else(|error| {
            let args: Vec<_> = args
                .iter()
                .map(|arg| arg.as_ref().escape_ascii().to_string())
                .collect();
            panic!("no reply to {}: {error}", args.join(" "))
        })
    }

    /// Sends a command given as one line of words, and reads its reply.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn say(&mut self, line: &str) -> Reply {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Sends a command that must succeed.
    ///
    /// # Panics
    /// If the reply is an error, or the connection fails.
    pub fn must(&mut self, line: &str) -> Reply {
        let reply = self.say(line);
        assert!(!matches!(reply, Reply::Error(_)), "{line}: {reply}");
        reply
    }

    /// Reads a number from a section of `INFO`.
    ///
    /// # Panics
    /// If there is no such number, or the connection fails.
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
    /// If the connection fails.
    pub fn try_call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Reply> {
        self.send(args)?;
        self.read()
    }

    /// Sends a command without reading its reply.
    ///
    /// # Errors
    /// If the connection fails.
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

    /// Sends bytes as they are: commands in the wire format.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn send_raw(&mut self, wire: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(wire)
    }

    /// Reads one reply, or a push.
    ///
    /// # Errors
    /// If the connection fails, or what arrives is not RESP.
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
        let number = || text().parse::<i64>().map_err(|_| malformed(&line));
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
            _ => return Err(malformed(&line)),
        })
    }

    fn bulk(&mut self, length: usize) -> io::Result<Reply> {
        let mut bytes = vec![0; length + 2];
        self.reader.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(Reply::Bulk(bytes))
    }
}

fn malformed(line: &[u8]) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not RESP: {}", line.escape_ascii()),
    )
}
