//! Job payloads as job libraries write them.

use std::time::{SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use serde_json::json;

/// Makes a job of 200 to 2,000 bytes: its class, arguments, a unique id and the time.
#[must_use]
pub fn job(random: &mut Rng, queue: &str) -> Vec<u8> {
    let class = [
        "Mail::Deliver",
        "Invoice::Render",
        "Search::Index",
        "Webhook::Send",
    ];
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let text: String = (0..random.usize(0..1_700))
        .map(|_| random.alphanumeric())
        .collect();
    let job = json!({
        "class": class[random.usize(..class.len())],
        "args": [random.u32(..), {"to": "someone@example.com", "body": text}],
        "jid": jid(random),
        "queue": queue,
        "retry": true,
        "created_at": now.as_secs_f64(),
        "enqueued_at": now.as_secs_f64(),
    });
    let mut job = job.to_string().into_bytes();
    // A short job is padded with the white space that JSON permits.
    if job.len() < 200 {
        job.resize(200, b' ');
    }
    job
}

/// Makes the unique id of a job.
#[must_use]
pub fn jid(random: &mut Rng) -> String {
    format!("{:024x}", random.u128(..) >> 32)
}
