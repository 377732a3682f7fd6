//! Which clients belong to rescued users, as far as it is known: asking the server
//! for a client's user costs more than the rest of the filter.
//!
//! Only the filter asks here. A rescued command asks the server itself, so that
//! what is not forgotten in time gives no permission.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many clients are remembered: a power of two.
const PLACES: usize = 64;

/// For each client its id, and in the last bit whether its user is named. The server
/// counts the ids of clients from 1, and uses none twice.
static KNOWN: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

/// Whether this client is rescued, if it is known.
pub(super) fn is_rescued(client: u64) -> Option<bool> {
    let known = place_of(client).load(Relaxed);
    (known >> 1 == client).then_some(known & 1 == 1)
}

/// Remembers whether this client is rescued.
pub(super) fn remember(client: u64, is_rescued: bool) {
    place_of(client).store(client << 1 | u64::from(is_rescued), Relaxed);
}

/// Forgets this client: its user may change.
pub(super) fn forget(client: u64) {
    place_of(client).store(0, Relaxed);
}

/// Forgets all clients: what their users may do changes, or who is named.
pub(super) fn forget_all() {
    for known in &KNOWN {
        known.store(0, Relaxed);
    }
}

fn place_of(client: u64) -> &'static AtomicU64 {
    // Masked by the last index.
    #[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)]
    &KNOWN[client as usize & (PLACES - 1)]
}
