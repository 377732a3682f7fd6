//! Without the module the same libraries, on the same server, stand still or lose jobs.
//! So the tests of `drains` can fail.

use std::time::Duration;

use wurk_testkit::Binary;
use wurk_testkit::libraries::{Account, Alone, Library};

use super::scene::{self, Pressed, Start};
use crate::support::wait::wait_until;

/// What is not done after this time without a job done will not be: a library that
/// waits longer, for a retry, has lost jobs before.
const PATIENCE: Duration = Duration::from_secs(6);

pub fn cold(binary: &Binary, library: &'static Library) {
    let account = account(binary, library, Start::Cold, Pressed::No);
    let Account { done, lost, .. } = account;
    match library.alone {
        Alone::Stuck => assert_eq!((done, lost), (0, 0), "{account:?}"),
        Alone::StuckRetries => assert_eq!(lost, 0, "{account:?}"),
        Alone::Loses => assert!(lost > 0, "{account:?}"),
    }
}

/// Those that lose jobs lose them in the order of life too: the server is full, and what
/// one client frees another takes. One that stands still may get a call through then,
/// and how far it comes is chance.
pub fn under_pressure(binary: &Binary, library: &'static Library) {
    if library.alone == Alone::Loses {
        let account = account(binary, library, Start::Cold, Pressed::Yes);
        assert!(account.lost > 0, "{account:?}");
    }
}

/// Runs the library until it does no more, and accounts for its jobs.
fn account(binary: &Binary, library: &'static Library, start: Start, pressed: Pressed) -> Account {
    let options = scene::without(binary);
    let mut scene = scene::full(library, options, start, pressed, &[]);
    let refused = scene.refused;
    wait_until("the server has refused the workers", || {
        scene::refusals(&mut scene.stage) > refused
    });
    let accepted = scene.stage.folder.accepted().len();
    let all = scene.stage.wait_until_done(accepted, PATIENCE, |_| ());
    scene.workers.clear();
    let account = scene.stage.settle();
    assert!(!all, "{account:?}");
    account
}
