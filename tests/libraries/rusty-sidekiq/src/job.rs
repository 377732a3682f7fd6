//! What every job does, and what fills the server with them. The folder `JOBS` is
//! described in `job/job.py`.

use std::env;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::time::Duration;

/// Runs a job. One in twenty fails at its first run.
pub async fn run(id: &str) -> Result<(), String> {
    if exists("gate") {
        write("held", id);
        while exists("gate") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let number: usize = id[id.len() - 6..].parse().expect("a number");
    if number % 20 == 0 && is_first_run(id) {
        return Err(format!("the first run of {id}"));
    }
    write("done", id);
    Ok(())
}

/// Enqueues jobs from number `FIRST` on: `MOST`, or until the server refuses.
pub async fn enqueue_all<E: Display>(
    mut enqueue: impl AsyncFnMut(String, String) -> Result<(), E>,
) {
    let number = |name: &str, or: usize| {
        env::var(name)
            .ok()
            .and_then(|n| n.parse().ok())
            .unwrap_or(or)
    };
    let (first, most) = (number("FIRST", 0), number("MOST", 1_000_000));
    for number in first..first + most {
        let id = format!("job-{number:06}");
        if let Err(error) = enqueue(id.clone(), "x".repeat(500)).await {
            write("uncertain", &id);
            write("refused", &error.to_string());
            return;
        }
        write("accepted", &id);
    }
}

fn is_first_run(id: &str) -> bool {
    match File::create_new(file(&format!("failed-{id}"))) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => panic!("{error}"),
    }
}

/// One write a line: several processes append.
fn write(name: &str, line: &str) {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file(name));
    let line = format!("{line}\n");
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("a line");
}

fn exists(name: &str) -> bool {
    std::path::Path::new(&file(name)).exists()
}

fn file(name: &str) -> String {
    format!("{}/{name}", env::var("JOBS").expect("a folder"))
}
