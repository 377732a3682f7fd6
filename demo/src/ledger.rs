//! What has become of each job.

use std::collections::HashSet;

use comfy_table::{CellAlignment, Table, presets};
use redis::{Connection, RedisResult};
use wurk_client::Queue;

use crate::drain::{RETRY, Worked};
use crate::show;

/// Counts, prints the table and the last line. `false` where a job is lost,
/// stands twice, or came from nowhere.
pub(crate) fn settle(
    con: &mut Connection,
    queues: &[Queue],
    pushed: &HashSet<Vec<u8>>,
    worked: Vec<Worked>,
) -> RedisResult<bool> {
    let requeued: usize = worked.iter().map(|worked| worked.requeued).sum();
    let retried: usize = worked.iter().map(|worked| worked.retried).sum();
    let done: Vec<_> = worked.into_iter().flat_map(|worked| worked.done).collect();
    let retry: Vec<Vec<u8>> = redis::cmd("ZRANGE").arg(RETRY).arg(0).arg(-1).query(con)?;
    let (mut waiting, mut flying) = (Vec::new(), Vec::new());
    for queue in queues {
        waiting.append(&mut list(con, &queue.public)?);
        // Of every worker.
        let pattern = [b"*", queue.private.as_slice(), b"*"].concat();
        let lists: Vec<Vec<u8>> = redis::cmd("KEYS").arg(pattern).query(con)?;
        for private in lists {
            flying.append(&mut list(con, &private)?);
        }
    }

    let used = show::memory(con, "used_memory")?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    for (what, count) in [
        ("pushed", pushed.len()),
        ("done", done.len()),
        ("failed, waiting in retry", retry.len()),
        ("in flight", flying.len()),
        ("in queues", waiting.len()),
        ("given back and claimed again", requeued),
    ] {
        table.add_row([what.to_owned(), show::grouped(count)]);
    }
    table.add_row(["memory used at the end".to_owned(), show::bytes(used)]);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");

    let found = [done, retry, flying, waiting].concat();
    let places = found.len();
    let found: HashSet<_> = found.into_iter().collect();
    let lost = pushed.difference(&found).count();
    let twice = places - found.len();
    let strange = found.difference(pushed).count();
    if twice + strange > 0 {
        println!(
            "{} jobs twice, {} from nowhere",
            show::grouped(twice),
            show::grouped(strange)
        );
    }
    println!(
        "{} jobs in, {} accounted for, {} lost",
        show::grouped(pushed.len()),
        show::grouped(pushed.len() - lost),
        show::grouped(lost),
    );
    Ok(lost + twice + strange == 0 && retried > 0 && requeued > 0)
}

fn list(con: &mut Connection, key: &[u8]) -> RedisResult<Vec<Vec<u8>>> {
    redis::cmd("LRANGE").arg(key).arg(0).arg(-1).query(con)
}
