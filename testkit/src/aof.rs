//! Reads the commands in an append-only file.

use std::fs;
use std::path::Path;

/// Returns the commands in the append-only file of this folder, in order.
///
/// # Panics
/// If there is no such file, or it is malformed.
#[must_use]
pub fn commands(folder: &Path) -> Vec<Vec<Vec<u8>>> {
    let mut files: Vec<_> = fs::read_dir(folder.join("appendonlydir"))
        .expect("a server with an append-only file")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".incr.aof"))
        .collect();
    files.sort();
    let bytes = files
        .iter()
        .flat_map(|path| fs::read(path).expect("a file"))
        .collect::<Vec<_>>();
    let mut rest = bytes.as_slice();
    let mut commands = Vec::new();
    while !rest.is_empty() {
        let count = number(&mut rest, b'*');
        let command = (0..count).map(|_| {
            let length = number(&mut rest, b'$');
            let (argument, after) = rest.split_at(length);
            rest = &after[2..];
            argument.to_vec()
        });
        commands.push(command.collect());
    }
    commands
}

fn number(rest: &mut &[u8], kind: u8) -> usize {
    let end = rest
        .windows(2)
        .position(|two| two == b"\r\n")
        .expect("a line");
    let (line, after) = rest.split_at(end);
    *rest = &after[2..];
    assert_eq!(line.first(), Some(&kind), "{}", line.escape_ascii());
    line[1..]
        .escape_ascii()
        .to_string()
        .parse()
        .expect("a number")
}
