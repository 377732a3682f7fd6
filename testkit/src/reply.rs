//! The replies of a server.

use std::fmt;

/// A reply, as it was on the wire.
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
    /// `$-1`, `*-1` or `_`, whichever it was.
    Nil(&'static str),
    /// `*2`, `~2`; a map is the list of its keys and values.
    Array(Vec<Reply>),
    /// `>2`, which the server sends without a call.
    Push(Vec<Reply>),
    /// Anything else of RESP3, as text.
    Other(String),
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

    /// The integer, also if it was sent as text.
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

    /// The items of an array; none if it is anything else.
    #[must_use]
    pub fn items(&self) -> &[Reply] {
        match self {
            Self::Array(items) | Self::Push(items) => items,
            _ => &[],
        }
    }

    /// Whether it is a nil.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil(_))
    }
}

/// In a readable form: `OK`, `(integer) 1`, `"job"`, `nil`,
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
