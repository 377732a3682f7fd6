//! Where no module can be loaded: each library does every job of a full stock server,
//! once, because its workers load one file that sends again what the server refused.

use wurk_testkit::Binary;
use wurk_testkit::libraries::{Library, Stage};

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
    if !library.rescues_itself() {
        return;
    }
    let mut stage = Stage::new(library, scene::without(binary));
    stage.rescuing = true;
    // As far past maxmemory as the library needs, in percent.
    let limit = library.rescue_limit.to_string();
    let mut scene = scene::fill(stage, start, pressed, &[("WURK_RESCUE_LIMIT", &limit)]);
    let account = scene.stage.drain(PATIENCE, |_| ());
    assert!(account.is_complete(), "{account:?}");
    // One that pops makes room for its retries itself, if nobody else takes it.
    let refused = scene::refusals(&mut scene.stage.con) > scene.refused;
    assert!(refused || scene::is_full_size());
    scene::report(&mut scene.stage, "by itself", &account);
}
