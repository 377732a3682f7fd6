//! A cluster of three primaries, all full: workers that a cluster's clients bring to the
//! right node are rescued on each.

use std::thread;
use std::time::Duration;

use wurk_testkit::libraries::stage::WORKER;
use wurk_testkit::libraries::{Account, Library, Stage};
use wurk_testkit::{Binary, Options, Resp};

use super::scene::{PATIENCE, refusals};
use crate::support::cluster;
use crate::support::wait::wait_until;

/// Enough for each of the queues, one on each node.
const JOBS: usize = 150;

pub fn bullmq(binary: &Binary) {
    drains(binary, "bullmq-cluster");
}

pub fn lists_by_redis_py(binary: &Binary) {
    drains(binary, "redis-py-cluster");
}

/// The same where no module is loaded, by what its workers load.
pub fn bullmq_by_itself(binary: &Binary) {
    let library = Library::by_name("bullmq-cluster").expect("a library");
    if !library.is_installed_or_optional() {
        return;
    }
    let mut stage = Stage::on(library, cluster::start(&Options::new(binary)));
    stage.rescuing = true;
    stage.produce(Some(JOBS));
    let mut nodes: Vec<_> = stage.servers.iter().map(|node| node.connect()).collect();
    for node in &mut nodes {
        node.must("CONFIG SET maxmemory 1");
    }
    let _workers = stage.start_workers(&[("WURK_RESCUE_LIMIT", "0")]);
    let accepted = stage.folder.accepted().len();
    let all = stage.wait_until_done(accepted, PATIENCE, |_| ());
    let account = Account::settle(&stage.folder, &mut nodes);
    assert!(all && account.is_complete(), "{account:?}");
    assert!(nodes.iter_mut().all(|node| refusals(node) > 0), "on each");
}

fn drains(binary: &Binary, name: &str) {
    let library = Library::by_name(name).expect("a library");
    if !library.is_installed_or_optional() {
        return;
    }
    // Without a limit, for the one below is far below what is used.
    let options = Options::new(binary).module_with(&["rescue-limit", "0"]);
    let mut stage = Stage::on(library, cluster::start(&options));
    stage.produce(Some(JOBS));
    let mut nodes: Vec<_> = stage.servers.iter().map(|node| node.connect()).collect();
    for node in &mut nodes {
        let keys = node.must("DBSIZE").integer();
        assert!(keys > Some(0), "every node has jobs");
        node.must("CONFIG SET maxmemory 1");
    }
    stage.produce(None);
    let accepted = stage.folder.accepted().len();
    assert_eq!(accepted, JOBS, "then the producer is refused");

    let refused: Vec<_> = nodes.iter_mut().map(refusals).collect();
    let workers = stage.start_workers(&[]);
    wait_until("a node has refused the workers", || {
        let now: Vec<_> = nodes.iter_mut().map(refusals).collect();
        now != refused
    });
    thread::sleep(Duration::from_secs(1));
    drop(workers);
    assert!(stage.folder.done().is_empty(), "nobody is named yet");

    for node in &mut nodes {
        node.must(&format!("CONFIG SET wurk.rescue-users {WORKER}"));
    }
    let _workers = stage.start_workers(&[]);
    let all = stage.wait_until_done(accepted, PATIENCE, |_| ());
    let account = Account::settle(&stage.folder, &mut nodes);
    assert!(all && account.is_complete(), "{account:?}");
    let rescues = |node: &mut Resp| node.info("wurk", "wurk_rescues");
    assert!(nodes.iter_mut().all(|node| rescues(node) > 0), "on each");
}
