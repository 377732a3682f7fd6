//! What a worker passes to the client: its queues, its heartbeat, its own error.

use std::time::Duration;

use redis::{Connection, RedisError, RedisResult};
use wurk_client::{Claimed, Heartbeat, Queue, Wurk};

/// The queue `q`.
pub fn queues() -> [Queue; 1] {
    [Queue::new("q", "q:p")]
}

/// The heartbeat of the process `id`.
pub const HEARTBEAT: Heartbeat<'static> = heartbeat(b"ps", b"id");

/// The heartbeat of another process.
pub const fn heartbeat<'a>(processes: &'a [u8], identity: &'a [u8]) -> Heartbeat<'a> {
    Heartbeat::new(processes, identity)
        .with_info(b"i")
        .with_beat(b"1.5")
        .with_ttl(Duration::from_millis(59_001))
}

/// The caller's own error, which it passes to the client.
pub fn own_error() -> RedisError {
    redis::make_extension_error(
        "OOM".into(),
        Some("command not allowed, the caller's own error".into()),
    )
}

/// Claims a job, with the error that sent the caller to the client, if any.
pub fn claim<'q>(
    wurk: &Wurk,
    con: &mut Connection,
    queues: &'q [Queue],
    oom: Option<RedisError>,
) -> RedisResult<Option<Claimed<'q>>> {
    match oom {
        Some(oom) => wurk.or_else_oom(oom).claim(con, &HEARTBEAT, queues),
        None => wurk.claim(con, &HEARTBEAT, queues),
    }
}
