//! Without the module the same libraries, on the same server, stand still or lose jobs.
//! So the tests of `drains` can fail.

use std::time::Duration;

use wurk_testkit::Binary;
use wurk_testkit::libraries::{Alone, Library};

use super::scene::{self, Pressed, Start};
use crate::support::wait::wait_until;

/// What is not done after this time without a job done will not be: a library that
/// waits longer, for a retry, has lost jobs before.
const PATIENCE: Duration = Duration::from_secs(6);

pub fn stands_still_or_loses_jobs(binary: &Binary, library: &'static Library) {
    // A server that is held full loses all that fails. One that is not loses some of
    // them, in life and in a full run, if others take what gets free.
    let pressed = if scene::is_full_size() && library.alone == Alone::Loses {
        Pressed::Yes
    } else {
        Pressed::No
    };
    let options = scene::without(binary);
    let mut scene = scene::full(library, options, Start::Cold, pressed, &[]);
    let refused = scene.refused;
    wait_until("the server has refused the workers", || {
        scene::refusals(&mut scene.stage.con) > refused
    });
    let accepted = scene.stage.folder.accepted().len();
    let all = scene.stage.wait_until_done(accepted, PATIENCE, |_| ());
    scene.workers.clear();
    let account = scene.stage.settle();
    scene::report(&mut scene.stage, "without", &account);
    assert!(!all, "{account:?}");
    match library.alone {
        // A server that is not held full may let a few calls through.
        Alone::Stuck if scene::is_full_size() => assert!(account.done < accepted / 50),
        Alone::Stuck => assert_eq!((account.done, account.lost), (0, 0), "{account:?}"),
        Alone::StuckRetries => assert_eq!(account.lost, 0, "{account:?}"),
        Alone::Loses => assert!(account.lost > 0, "{account:?}"),
    }
}
