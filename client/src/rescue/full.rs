//! Whether a server is full, and how full: what `INFO memory` said, at most once a
//! second and only while commands are refused.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use redis::Value;

/// How long an answer counts.
const ANSWER_TTL: Duration = Duration::from_secs(1);

/// The percentage of maxmemory from which a server counts as full: what gets free while
/// it is drained is taken at once.
const FULL: u64 = 98;

/// What is known of a server's memory.
#[derive(Debug)]
pub(crate) struct Memory {
    created: Instant,
    /// The percentage above maxmemory from which nothing is rescued; 0 is none.
    limit: u64,
    /// In milliseconds since `created`; 0 is never.
    asked_until: AtomicU64,
    full_until: AtomicU64,
    past_limit: AtomicBool,
    protocol: AtomicU8,
}

impl Memory {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            created: Instant::now(),
            limit: u64::from(limit),
            asked_until: AtomicU64::new(0),
            full_until: AtomicU64::new(0),
            past_limit: AtomicBool::new(false),
            protocol: AtomicU8::new(2),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn for_a_second(&self) -> u64 {
        let elapsed = self.created.elapsed() + ANSWER_TTL;
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }

    /// A command has been refused.
    pub(crate) fn on_oom(&self) {
        self.full_until.store(self.for_a_second(), Relaxed);
    }

    /// Whether the server is known to be full now. Reads no clock if it never was.
    pub(crate) fn is_full(&self) -> bool {
        match self.full_until.load(Relaxed) {
            0 => false,
            until => self.now() < until,
        }
    }

    /// Whether the server is to be asked again.
    pub(crate) fn is_to_be_asked(&self) -> bool {
        self.now() >= self.asked_until.load(Relaxed)
    }

    /// The reply to `INFO memory`, of a node or of each.
    pub(crate) fn on_info(&self, reply: Value) {
        self.asked_until.store(self.for_a_second(), Relaxed);
        let nodes = match reply {
            Value::Map(nodes) => nodes.into_iter().map(|(_, info)| info).collect(),
            info => vec![info],
        };
        let mut full = nodes.is_empty();
        let mut past_limit = false;
        for info in nodes {
            let protocol = match &info {
                Value::VerbatimString { .. } => 3,
                _ => 2,
            };
            let Ok(info) = redis::from_redis_value::<String>(info) else {
                full = true; // It does not say.
                continue;
            };
            self.protocol.store(protocol, Relaxed);
            let field = |name: &str| {
                let mut lines = info.lines().filter_map(|line| line.split_once(':'));
                let (_, value) = lines.find(|(field, _)| *field == name)?;
                value.parse::<u64>().ok()
            };
            if let (Some(used), Some(most @ 1..)) = (field("used_memory"), field("maxmemory")) {
                let percent = |part: u64| u128::from(most) * u128::from(part);
                let used = u128::from(used) * 100;
                full |= used >= percent(FULL);
                past_limit |= self.limit > 0 && used > percent(100 + self.limit);
            }
        }
        let until = if full { self.for_a_second() } else { 0 };
        self.full_until.store(until, Relaxed);
        self.past_limit.store(past_limit, Relaxed);
    }

    /// Whether the server uses more than the limit allows.
    pub(crate) fn is_past_limit(&self) -> bool {
        self.past_limit.load(Relaxed)
    }

    /// The version of the protocol that the connection speaks.
    pub(crate) fn protocol(&self) -> u8 {
        self.protocol.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(limit: u32, used: u64, most: u64) -> Memory {
        let memory = Memory::new(limit);
        memory.on_oom();
        let info = format!("# Memory\r\nused_memory:{used}\r\nmaxmemory:{most}\r\n");
        memory.on_info(Value::BulkString(info.into_bytes()));
        memory
    }

    #[test]
    fn it_is_full_until_there_is_room() {
        assert!(!Memory::new(10).is_full());
        assert!(after(10, 98, 100).is_full());
        assert!(!after(10, 97, 100).is_full());
        assert!(!after(10, 97, 0).is_full(), "no maxmemory");
    }

    #[test]
    fn the_limit_is_a_percentage() {
        assert!(!after(10, 1_100, 1_000).is_past_limit());
        assert!(after(10, 1_101, 1_000).is_past_limit());
        assert!(!after(0, 5_000, 1_000).is_past_limit(), "none");
        assert!(!after(10, 5_000, 0).is_past_limit(), "no maxmemory");
    }

    #[test]
    fn it_is_asked_once_a_second() {
        assert!(Memory::new(10).is_to_be_asked());
        assert!(!after(10, 1, 1).is_to_be_asked());
    }
}
