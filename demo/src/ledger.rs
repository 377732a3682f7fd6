//! Accounts for each job.

use std::collections::HashSet;

use comfy_table::{CellAlignment, Table, presets};
use redis::{Connection, RedisResult};
use wurk_client::Queue;

use crate::drain::{RETRY, Worked};
use crate::progress;

/// Counts the jobs, and prints the table and the last line. Returns `false` if a job
/// is lost, found twice, or was never pushed.
pub(crate) fn settle(
    con: &mut Connection,
    queues: &[Queue],
    pushed: &HashSet<Vec<u8>>,
    worked: Vec<Worked>,
) -> RedisResult<bool> {
    let requeued: usize = worked.iter().map(|worked| worked.requeued).sum();
    let done: Vec<_> = worked.into_iter().flat_map(|worked| worked.done).collect();
    let retry: Vec<Vec<u8>> = redis::cmd("ZRANGE").arg(RETRY).arg(0).arg(-1).query(con)?;
    let (mut waiting, mut in_flight) = (Vec::new(), Vec::new());
    for queue in queues {
        waiting.append(&mut list(con, &queue.public)?);
        // Of every worker.
        let pattern = [b"*", queue.private.as_slice(), b"*"].concat();
        let lists: Vec<Vec<u8>> = redis::cmd("KEYS").arg(pattern).query(con)?;
        for private in lists {
            in_flight.append(&mut list(con, &private)?);
        }
    }

    let used = progress::memory(con, "used_memory")?;
    let counts = [
        ("pushed", pushed.len()),
        ("done", done.len()),
        ("failed, waiting in retry", retry.len()),
        ("in flight", in_flight.len()),
        ("in queues", waiting.len()),
        ("requeued and claimed again", requeued),
    ];
    let mut rows: Vec<_> = counts
        .into_iter()
        .map(|(what, count)| (what, progress::grouped(count)))
        .collect();
    rows.push(("memory used at the end", progress::bytes(used)));
    table(&rows);

    let found = [done, retry, in_flight, waiting].concat();
    let places = found.len();
    let found: HashSet<_> = found.into_iter().collect();
    let lost = pushed.difference(&found).count();
    let twice = places - found.len();
    let unknown = found.difference(pushed).count();
    if twice + unknown > 0 {
        println!(
            "{} jobs found twice, {} never pushed",
            progress::grouped(twice),
            progress::grouped(unknown)
        );
    }
    last_line(pushed.len(), lost);
    Ok(lost + twice + unknown == 0)
}

/// Prints names and values in two columns.
pub(crate) fn table(rows: &[(&str, String)]) {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    for (what, value) in rows {
        table.add_row([what, value.as_str()]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
}

/// Prints what a demo is run for.
pub(crate) fn last_line(jobs: usize, lost: usize) {
    println!(
        "{} jobs in, {} accounted for, {} lost",
        progress::grouped(jobs),
        progress::grouped(jobs - lost),
        progress::grouped(lost),
    );
}

fn list(con: &mut Connection, key: &[u8]) -> RedisResult<Vec<Vec<u8>>> {
    redis::cmd("LRANGE").arg(key).arg(0).arg(-1).query(con)
}
