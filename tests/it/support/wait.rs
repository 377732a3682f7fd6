//! Waiting for a server, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use wurk_testkit::Resp;

/// Waits until a replica has loaded the data of its primary.
pub fn in_step(replica: &mut Resp) {
    wait_until("the replica is in step", || {
        replica
            .say("INFO replication")
            .to_string()
            .contains("master_link_status:up")
    });
}

/// Polls until `done`, for as long as a loaded machine may need.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
