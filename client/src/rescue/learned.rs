//! What a connection has seen pass: scripts that were loaded, keys that are watched.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::Value;

use super::words::{Words, is};

/// The most texts that are kept: of a program that loads more, others are forgotten.
const MOST: usize = 1_000;

/// The texts of scripts by their digests.
#[derive(Debug, Default)]
pub(crate) struct Scripts(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    texts: HashMap<Vec<u8>, Vec<u8>>,
    /// Digests whose text has been asked for.
    asked: HashSet<Vec<u8>>,
}

impl Scripts {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply to `SCRIPT LOAD`.
    pub(crate) fn learn(&self, text: &[u8], reply: &Value) {
        let digest = match reply {
            Value::BulkString(digest) => digest.to_ascii_lowercase(),
            Value::SimpleString(digest) => digest.to_ascii_lowercase().into_bytes(),
            _ => return,
        };
        let mut known = self.known();
        if known.texts.len() >= MOST {
            known.texts.clear();
        }
        known.asked.remove(&digest);
        known.texts.insert(digest, text.to_vec());
    }

    /// Puts the text in place of the digest, where it is known.
    pub(crate) fn put_text(&self, words: &mut Words) {
        if !is(words, &["EVALSHA"]) {
            return;
        }
        let known = self.known();
        if let [name, digest, ..] = words.as_mut_slice()
            && let Some(text) = known.texts.get(&digest.to_ascii_lowercase())
        {
            *name = b"EVAL".to_vec();
            *digest = text.clone();
        }
    }

    /// Whether the caller can be asked for the text, by telling it that the server has no
    /// such script: once.
    pub(crate) fn may_ask(&self, words: &Words) -> bool {
        let mut known = self.known();
        match words.as_slice() {
            [_, digest, ..] if is(words, &["EVALSHA"]) => {
                if known.asked.len() >= MOST {
                    known.asked.clear();
                }
                known.asked.insert(digest.to_ascii_lowercase())
            }
            _ => false,
        }
    }
}

/// The keys that a connection watches.
#[derive(Clone, Debug, Default)]
pub(crate) enum Watch {
    #[default]
    None,
    /// Some, of which it is not known how they were.
    Unknown,
    /// Each with its fingerprint.
    Keys(Vec<(Vec<u8>, Vec<u8>)>),
}

impl Watch {
    /// Keys are watched too; `fingerprints` is the reply about them, if it was asked for.
    pub(crate) fn add(&mut self, keys: &[Vec<u8>], fingerprints: Option<Value>) {
        let fingerprints = fingerprints.and_then(|value| redis::from_redis_value(value).ok());
        let fingerprints: Vec<Vec<u8>> = fingerprints.unwrap_or_default();
        let known = fingerprints.len() == keys.len();
        let new = keys.iter().cloned().zip(fingerprints);
        match self {
            Self::None if known => *self = Self::Keys(new.collect()),
            Self::Keys(keys) if known => keys.extend(new),
            _ => *self = Self::Unknown,
        }
    }

    /// Whether a transaction that was refused may become a script.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown)
    }

    pub(crate) fn keys(&self) -> &[(Vec<u8>, Vec<u8>)] {
        match self {
            Self::Keys(keys) => keys,
            _ => &[],
        }
    }
}
