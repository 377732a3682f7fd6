//! With its workers' user named, each library does every job of a full server, once.

use std::thread;
use std::time::Duration;

use wurk_testkit::Binary;
use wurk_testkit::libraries::Library;

use super::scene::{self, PATIENCE, Pressed, Start};

pub fn cold(binary: &Binary, library: &'static Library) {
    drains(binary, library, Start::Cold, Pressed::No);
}

pub fn warm(binary: &Binary, library: &'static Library) {
    drains(binary, library, Start::Warm, Pressed::No);
}

pub fn under_pressure(binary: &Binary, library: &'static Library) {
    drains(binary, library, Start::Cold, Pressed::Yes);
}

fn drains(binary: &Binary, library: &'static Library, start: Start, pressed: Pressed) {
    let options = scene::with(binary, library);
    let mut scene = scene::full(library, options, start, pressed, &[]);
    let accepted = scene.stage.folder.accepted().len();
    let all = scene.stage.wait_until_done(accepted, PATIENCE, |_| ());
    // One that is done twice may come a little later.
    thread::sleep(Duration::from_millis(300));
    let account = scene.stage.settle();
    assert!(all && account.is_complete(), "{account:?}");
    assert!(scene.stage.con.info("wurk", "wurk_rescues") > 0);
    let kind = match (start, pressed) {
        (Start::Warm, _) => "warm",
        (Start::Cold, Pressed::No) => "cold",
        (Start::Cold, Pressed::Yes) => "pressed",
    };
    scene::report(&mut scene.stage, kind, &account);
}
