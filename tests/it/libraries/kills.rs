//! A worker that is killed in the middle of a rescue loses nothing where its library
//! brings the jobs of dead workers back: those are done, and at most twice.

use std::thread;
use std::time::Duration;

use wurk_testkit::Binary;
use wurk_testkit::libraries::Library;

use super::scene::{self, PATIENCE, Pressed, Start};
use crate::support::wait::wait_until;

/// How the libraries here are told to notice a dead worker within seconds: their programs
/// in `tests/libraries` read this. RQ and GitLab's fetcher take minutes.
const RECOVER: [(&str, &str); 1] = [("RECOVER_AFTER", "3")];

/// How long after the kill jobs may return.
const RECOVERED: Duration = Duration::from_secs(4);

pub fn celery(binary: &Binary) {
    recovers(binary, "celery");
}

pub fn dramatiq(binary: &Binary) {
    recovers(binary, "dramatiq");
}

pub fn bullmq(binary: &Binary) {
    recovers(binary, "bullmq");
}

pub fn bull(binary: &Binary) {
    recovers(binary, "bull");
}

pub fn bee_queue(binary: &Binary) {
    recovers(binary, "bee-queue");
}

fn recovers(binary: &Binary, name: &str) {
    let library = Library::by_name(name).expect("a library");
    if !library.is_installed_or_optional() {
        return;
    }
    let options = scene::with(binary, library);
    let mut scene = scene::full(library, options, Start::Cold, Pressed::No, &RECOVER);
    let stage = &mut scene.stage;
    let accepted = stage.folder.accepted().len();
    stage.wait_until_done(accepted / 4, PATIENCE, |_| ());
    // Jobs are running, on a full server.
    stage.folder.close_gate();
    wait_until("a job runs", || !stage.folder.held().is_empty());
    if name == "celery" {
        // It pops jobs ahead, and notes each after that: on any server the one between
        // the two is lost with it. Here it has as many as it takes.
        thread::sleep(Duration::from_secs(1));
    }
    scene.workers.clear();
    let done = stage.folder.done().len();
    assert!(done < accepted, "it is killed in the middle");
    stage.folder.open_gate();
    // Celery looks for such jobs when it starts, and then rarely.
    thread::sleep(RECOVERED);
    scene.workers = stage.start_workers(&RECOVER);
    let account = stage.drain(PATIENCE, |_| ());
    assert_eq!(account.done, account.accepted, "{account:?}");
    assert_eq!(account.lost + account.unknown, 0, "{account:?}");
    assert_eq!(account.more, 0, "at most twice: {account:?}");
}
