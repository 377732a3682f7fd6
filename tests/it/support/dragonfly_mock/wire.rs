//! The wire protocol of the Dragonfly mock.

use std::io::BufRead;

use super::Reply;

pub fn read_command(reader: &mut impl BufRead) -> Option<Vec<Vec<u8>>> {
    let mut number = || -> Option<usize> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        line.trim().get(1..)?.parse().ok()
    };
    let count = number()?;
    let mut command = Vec::new();
    for _ in 0..count {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut bytes = vec![0; line.trim().get(1..)?.parse::<usize>().ok()? + 2];
        reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(bytes.len() - 2);
        command.push(bytes);
    }
    Some(command)
}

pub fn write_reply(wire: &mut Vec<u8>, reply: Reply) {
    match reply {
        Reply::Nil => wire.extend(b"$-1\r\n"),
        Reply::Ok(text) => wire.extend(format!("+{text}\r\n").bytes()),
        Reply::Error(text) => {
            wire.extend(format!("-{}\r\n", text.replace(['\r', '\n'], " ")).bytes())
        }
        Reply::Integer(n) => wire.extend(format!(":{n}\r\n").bytes()),
        Reply::Bulk(bytes) => {
            wire.extend(format!("${}\r\n", bytes.len()).bytes());
            wire.extend(bytes);
            wire.extend(b"\r\n");
        }
        Reply::Array(items) => {
            wire.extend(format!("*{}\r\n", items.len()).bytes());
            items.into_iter().for_each(|item| write_reply(wire, item));
        }
    }
}
