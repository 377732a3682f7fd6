//! A proxy that loses the reply to one command, as a network may: the server has
//! executed the command, and the client is disconnected.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// The proxy, which serves until the program ends.
pub struct LossyProxy {
    pub port: u16,
    /// How often each command was sent, by its name in capitals.
    seen: Arc<Mutex<HashMap<String, usize>>>,
}

impl LossyProxy {
    /// Starts a proxy for the server at port `server` that loses each reply to `command`.
    pub fn new(server: u16, command: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let seen = Arc::default();
        let counted = Arc::clone(&seen);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                thread::spawn(move || pass(&client, server, command, &counted));
            }
        });
        Self { port, seen }
    }

    /// How often a command was sent.
    pub fn seen(&self, command: &str) -> usize {
        let seen = self.seen.lock().expect("the counts");
        seen.get(command).copied().unwrap_or(0)
    }
}

/// Forwards a client's commands, one at a time.
fn pass(client: &TcpStream, server: u16, lost: &str, seen: &Mutex<HashMap<String, usize>>) {
    let mut server = TcpStream::connect(("127.0.0.1", server)).expect("the server");
    let cut = Arc::new(AtomicBool::new(false));
    let replies = (server.try_clone(), client.try_clone());
    let (Ok(from), Ok(to)) = replies else { return };
    let replies = thread::spawn({
        let cut = Arc::clone(&cut);
        move || pass_replies(from, to, &cut)
    });
    let mut reader = BufReader::new(client);
    while let Some((wire, name)) = read_command(&mut reader) {
        *seen
            .lock()
            .expect("the counts")
            .entry(name.clone())
            .or_default() += 1;
        // No other reply is due: these clients wait for each one.
        cut.store(name == lost, Ordering::SeqCst);
        if server.write_all(&wire).is_err() {
            break;
        }
        if name == lost {
            replies.join().expect("a reply");
            return;
        }
    }
    server.shutdown(Shutdown::Both).ok();
}

fn pass_replies(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if cut.load(Ordering::SeqCst) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
    from.shutdown(Shutdown::Both).ok();
}

/// Reads a command: its bytes on the wire, and its name in capitals.
pub fn read_command(reader: &mut impl BufRead) -> Option<(Vec<u8>, String)> {
    let mut wire = Vec::new();
    let mut name = String::new();
    let count = read_number(reader, &mut wire)?;
    for at in 0..count {
        let length = read_number(reader, &mut wire)?;
        let start = wire.len();
        wire.resize(start + length + 2, 0);
        reader.read_exact(&mut wire[start..]).ok()?;
        if at == 0 {
            name = String::from_utf8_lossy(&wire[start..start + length]).to_uppercase();
        }
    }
    Some((wire, name))
}

/// Reads the number in a line like `*3` or `$7`, and adds the line to `wire`.
fn read_number(reader: &mut impl BufRead, wire: &mut Vec<u8>) -> Option<usize> {
    let start = wire.len();
    reader.read_until(b'\n', wire).ok()?;
    let line = std::str::from_utf8(&wire[start..]).ok()?;
    line.trim_end().get(1..)?.parse().ok()
}
