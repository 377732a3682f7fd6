//! With its workers' user named, each library does every job of a full server, once.

use std::thread;
use std::time::{Duration, Instant};

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
    let began = Instant::now();
    let options = scene::with(binary, library);
    let mut scene = scene::full(library, options, start, pressed, &[]);
    let accepted = scene.stage.folder.accepted().len();
    let all = scene.stage.wait_until_done(accepted, PATIENCE, |_| ());
    // One that is done twice may come a little later.
    thread::sleep(Duration::from_millis(300));
    let account = scene.stage.settle();
    assert!(all && account.is_complete(), "{account:?}");
    assert!(scene.stage.con.info("wurk", "wurk_rescues") > 0);
    // The numbers of docs/libraries.md, whose servers have their limit unchanged.
    if scene::is_full_size() {
        let peak = scene
            .stage
            .con
            .info("wurk", "wurk_bytes_past_maxmemory_peak");
        println!(
            "| {} | {binary} | {start:?}, pressed: {pressed:?} | {accepted} | {:.1} MB | {:.0} s |",
            library.name,
            peak as f64 / 1e6,
            began.elapsed().as_secs_f64(),
        );
    }
}
