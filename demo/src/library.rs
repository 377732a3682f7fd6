//! A real queue library: its own producer and its own workers; stuck; then drained, with
//! their user named, or where there is no module by what they load.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use wurk_testkit::libraries::memory::{self, Pressure};
use wurk_testkit::libraries::programs::Program;
use wurk_testkit::libraries::stage::WORKER;
use wurk_testkit::libraries::{Account, Library, Stage};
use wurk_testkit::{Binary, Options};

use crate::{ledger, progress};

/// How many jobs are enqueued; keys of others take the rest of the memory.
const JOBS: usize = 2_000;

/// Workers that have done nothing for this long stand still.
const STILL: Duration = Duration::from_secs(6);

/// The same for workers that are rescued: longer than any library waits for a retry.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fills a server with the library's jobs, shows what its workers do there without wurk,
/// and drains it: with their user named, or without the module by workers that rescue
/// their own commands. Returns `false` if a job is lost, is done twice, or remains, or if
/// the workers needed no rescue.
pub(crate) fn show(library: &'static Library, options: &Options, with_module: bool) -> bool {
    let mut options = options.clone();
    if with_module {
        options = options.module_with(&["rescue-limit", &library.rescue_limit.to_string()]);
    }
    let mut stage = fill(library, &options);
    let alone = alone(&mut stage);
    if !with_module && !library.rescues_itself() {
        println!("its connections cannot be wrapped: it needs the module");
        return alone.done < alone.accepted;
    }
    if alone.done > 0 {
        println!("\nonce more on a new server");
        stage = fill(library, &options);
    }
    if with_module {
        let setting = format!("CONFIG SET wurk.rescue-users {WORKER}");
        stage.con.must(&setting);
        println!("named    {setting}");
    } else {
        stage.rescuing = true;
        println!(
            "loaded   {} in the workers' processes",
            library.rescued_by()
        );
    }
    drain(&mut stage) && alone.done < alone.accepted
}

/// Runs the producer until it is refused.
fn fill(library: &'static Library, options: &Options) -> Stage {
    let mut stage = Stage::new(library, options.clone());
    let most = memory_info(&mut stage, "maxmemory");
    let bar = progress::bar(
        most,
        "filling  {wide_bar} {bytes} of {total_bytes}, {msg} jobs",
    );
    let mut producer = stage.start_producer(None);
    let mut count = 0;
    while count < JOBS && !producer.has_ended() {
        std::thread::sleep(Duration::from_millis(50));
        count = show_filling(&mut stage, &bar);
    }
    memory::fill(&mut stage.con);
    producer.wait();
    memory::fill(&mut stage.con);
    count = show_filling(&mut stage, &bar);
    bar.finish_and_clear();
    println!(
        "filled   {} jobs of {}'s producer, {} of {} used",
        progress::grouped(count),
        library.name,
        progress::bytes(memory_info(&mut stage, "used_memory")),
        progress::bytes(most),
    );
    println!("refused  the producer: {}", short(&stage.folder.refused()));
    stage
}

/// An error on one line, without the middle of a long one, which may be the job itself.
fn short(error: &str) -> String {
    let printable = |c: char| if c.is_control() { '.' } else { c };
    let characters: Vec<_> = error.chars().map(printable).collect();
    match characters.len() {
        ..=200 => characters.into_iter().collect(),
        length => {
            let [begin, end] = [&characters[..60], &characters[length - 120..]];
            begin.iter().chain(&[' ', '…', ' ']).chain(end).collect()
        }
    }
}

/// Moves the bar, and returns the number of jobs.
fn show_filling(stage: &mut Stage, bar: &ProgressBar) -> usize {
    let count = stage.folder.accepted().len();
    bar.set_message(progress::grouped(count));
    bar.set_position(memory_info(stage, "used_memory"));
    count
}

/// Runs the workers as they are, while another client takes what gets free.
fn alone(stage: &mut Stage) -> Account {
    let pressure = Pressure::start(stage.as_producer());
    let mut workers = stage.start_workers(&[]);
    let bar = jobs_bar(stage, "alone    ");
    let jobs = stage.folder.accepted().len();
    stage.wait_until_done(jobs, STILL, |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    let ended = workers.iter_mut().all(Program::has_ended);
    drop((workers, pressure));
    let account = stage.settle();
    let [done, left, lost] = [account.done, account.left, account.lost].map(progress::grouped);
    let how = match (account.lost, ended) {
        (1.., _) => "lossy    the workers go on",
        (0, true) => "stuck    the workers end",
        (0, false) => "stuck    the workers stand still",
    };
    println!("{how}: {done} jobs done, {left} left, {lost} lost");
    account
}

/// Drains the server, by workers that are rescued.
fn drain(stage: &mut Stage) -> bool {
    let push = stage.as_producer().say("LPUSH more job");
    if push.error().is_some_and(|error| error.starts_with("OOM ")) {
        println!("refused  producers, still");
    }
    let began = Instant::now();
    let limit = stage.library.rescue_limit.to_string();
    let workers = stage.start_workers(&[("WURK_RESCUE_LIMIT", &limit)]);
    let bar = jobs_bar(stage, "draining ");
    let mut peak = 0;
    let maxmemory = stage.con.info("memory", "maxmemory");
    let mut observer = stage.servers[0].connect();
    let account = stage.drain(PATIENCE, |done| {
        bar.set_position(done as u64);
        peak = peak.max(observer.info("memory", "used_memory") - maxmemory);
    });
    bar.finish_and_clear();
    if !stage.rescuing {
        peak = stage.con.info("wurk", "wurk_bytes_past_maxmemory_peak");
    }
    let seconds = began.elapsed().as_secs_f64();
    drop(workers);
    println!(
        "drained  by {}'s workers in {seconds:.1} s",
        stage.library.name
    );
    ledger::table(&[
        ("enqueued", progress::grouped(account.accepted)),
        ("done", progress::grouped(account.done)),
        (
            "failed once, and retried",
            progress::grouped(stage.folder.failed_once()),
        ),
        ("done twice", progress::grouped(account.twice)),
        ("left in its keys", progress::grouped(account.left)),
        (
            "most memory above maxmemory",
            progress::bytes(peak.max(0).unsigned_abs()),
        ),
    ]);
    ledger::last_line(account.accepted, account.lost);
    account.is_complete()
}

/// A bar of all jobs.
fn jobs_bar(stage: &Stage, kind: &str) -> ProgressBar {
    let template = format!("{kind}{{wide_bar}} {{human_pos}} of {{human_len}} jobs");
    progress::bar(stage.folder.accepted().len() as u64, &template)
}

fn memory_info(stage: &mut Stage, field: &str) -> u64 {
    stage.con.info("memory", field).unsigned_abs()
}

/// Finds a library by its name; or says which there are, or how to install it.
pub(crate) fn find(
    name: &str,
    binary: &Binary,
    with_module: bool,
) -> Result<&'static Library, String> {
    let library = Library::by_name(name).ok_or_else(|| {
        let names: Vec<_> = wurk_testkit::libraries::LIBRARIES
            .iter()
            .map(|library| library.name)
            .collect();
        format!("no library {name}: there are {}", names.join(", "))
    })?;
    if !library.is_installed() {
        return Err(format!(
            "{name} is not installed: run 'tools/libraries {name}'"
        ));
    }
    if with_module && !crate::rescue::is_possible(binary) {
        return Err(format!(
            "{binary} cannot rescue libraries: 7.2 and later can"
        ));
    }
    Ok(library)
}
