//! The seed of the random runs.

use std::env;

/// Returns and prints the seed: `WURK_SEED`, or a new one.
pub fn seed() -> u64 {
    let seed = env::var("WURK_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    eprintln!("WURK_SEED={seed}");
    seed
}
