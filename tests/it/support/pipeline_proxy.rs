//! A proxy that passes an acknowledgement on together with the command behind it: a
//! client that waits for the reply to its `LREM` before it claims is disconnected.

use std::io::{BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::lossy_proxy::read_command;

/// How long the command behind an acknowledgement may take to come.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The proxy, which serves until the program ends.
pub struct PipelineProxy {
    pub port: u16,
    /// The commands that were sent, by their names in capitals.
    seen: Arc<Mutex<Vec<String>>>,
}

impl PipelineProxy {
    /// Starts a proxy for the server at port `server`, which refuses each client's first
    /// acknowledgement.
    pub fn new(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let seen = Arc::default();
        let names = Arc::clone(&seen);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let names = Arc::clone(&names);
                thread::spawn(move || pass(&client, server, &names));
            }
        });
        Self { port, seen }
    }

    /// The commands that were sent, in their order.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("the names").clone()
    }
}

fn pass(client: &TcpStream, server: u16, seen: &Mutex<Vec<String>>) {
    let mut server = TcpStream::connect(("127.0.0.1", server)).expect("the server");
    let (Ok(mut from), Ok(mut to)) = (server.try_clone(), client.try_clone()) else {
        return;
    };
    let replies = thread::spawn(move || std::io::copy(&mut from, &mut to));
    let mut reader = BufReader::new(client);
    let mut held = Vec::new();
    let mut refused = false;
    while let Some((mut wire, name)) = read_command(&mut reader) {
        seen.lock().expect("the names").push(name.clone());
        let is_held = name == "LREM";
        if is_held && !refused {
            refused = true;
            // The server knows no command of this name.
            let at = wire.windows(4).position(|word| word == b"LREM");
            let at = at.expect("the name in capitals");
            wire[at..at + 4].copy_from_slice(b"NONE");
        }
        held.extend(wire);
        let timeout = is_held.then_some(TIMEOUT);
        client.set_read_timeout(timeout).expect("a timeout");
        if !is_held && server.write_all(&std::mem::take(&mut held)).is_err() {
            break;
        }
    }
    server.shutdown(Shutdown::Both).ok();
    client.shutdown(Shutdown::Both).ok();
    drop(replies.join());
}
