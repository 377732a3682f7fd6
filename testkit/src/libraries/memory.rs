//! Making a server full, and keeping it so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::resp::Resp;

/// What the names of keys begin with that are no library's.
pub const FILLER: &str = "filler:";

/// Adds keys until only `room` bytes are left, for jobs.
///
/// # Panics
/// If the connection fails.
pub fn leave(con: &mut Resp, room: i64) {
    let value = "f".repeat(100_000);
    for number in 0.. {
        let free = con.info("memory", "maxmemory") - con.info("memory", "used_memory");
        if free < room + 100_000
            || con
                .call(&["SET", &key("room", number), &value])
                .error()
                .is_some()
        {
            return;
        }
    }
}

/// Adds keys until the smallest is refused. The server is full now, for a moment at
/// least.
///
/// # Panics
/// If the connection fails.
pub fn fill(con: &mut Resp) {
    for size in [100_000, 10_000, 1_000, 100, 1] {
        take_all(con, size, &size.to_string());
    }
}

/// Lowers the limit, so that what a drained queue frees makes no room for others.
///
/// # Panics
/// If the connection fails.
pub fn hold_full(con: &mut Resp, freed: i64) {
    let used = con.info("memory", "used_memory");
    con.must(&format!("CONFIG SET maxmemory {}", used - freed));
}

/// Another client, which takes every byte that gets free until this is dropped.
pub struct Pressure {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pressure {
    /// Takes what gets free, over a connection.
    #[must_use]
    pub fn start(mut con: Resp) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&end);
        let thread = thread::spawn(move || {
            for round in 0.. {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                for size in [10_000, 500, 1] {
                    take_all(&mut con, size, &format!("{size}:{round}"));
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self {
            end,
            thread: Some(thread),
        }
    }
}

impl Drop for Pressure {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Adds keys of this size until one is refused.
fn take_all(con: &mut Resp, size: usize, name: &str) {
    let value = "f".repeat(size);
    for number in 0.. {
        if con
            .call(&["SET", &key(name, number), &value])
            .error()
            .is_some()
        {
            return;
        }
    }
}

fn key(name: &str, number: usize) -> String {
    format!("{FILLER}{name}:{number}")
}
