//! With its workers' user named, each library does every job of a full server, once.

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
    let account = scene.stage.drain(PATIENCE, |_| ());
    assert!(account.is_complete(), "{account:?}");
    // One that pops makes room for its retries itself, if nobody else takes it.
    let rescues = scene.stage.con.info("wurk", "wurk_rescues");
    assert!(rescues > 0 || scene::is_full_size());
    let kind = match (start, pressed) {
        (Start::Warm, _) => "warm",
        (Start::Cold, Pressed::No) => "cold",
        (Start::Cold, Pressed::Yes) => "pressed",
    };
    scene::report(&mut scene.stage, kind, &account);
}
