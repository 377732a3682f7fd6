//! A mock of a full Dragonfly server.

mod lua;
mod wire;

use std::collections::VecDeque;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use self::lua::eval;
use self::wire::{read_command, write_reply};

/// A full server that replies as Dragonfly does. It refuses commands that may grow memory,
/// also in scripts, by `ERR Out of memory` without an error code; it accepts `LMOVE` and
/// `LREM`; it cannot compile `#!lua`.
#[derive(Default)]
pub struct DragonflyMock {
    pub public: VecDeque<Vec<u8>>,
    pub private: VecDeque<Vec<u8>>,
    /// The names of the commands that were called, in scripts with a dot before them.
    pub seen: Vec<String>,
}

/// The replies of the mock.
pub enum Reply {
    Nil,
    Ok(&'static str),
    Integer(i64),
    Bulk(Vec<u8>),
    Array(Vec<Reply>),
    Error(String),
}

pub type Shared = Arc<Mutex<DragonflyMock>>;

impl DragonflyMock {
    fn list(&mut self, key: &[u8]) -> &mut VecDeque<Vec<u8>> {
        if key == b"q" {
            &mut self.public
        } else {
            &mut self.private
        }
    }

    /// Runs a command of a client or of a script.
    fn run(&mut self, command: &[Vec<u8>]) -> Reply {
        let name = String::from_utf8_lossy(&command[0]).to_uppercase();
        match name.as_str() {
            "RPUSH" | "LPUSH" | "HSET" | "SET" | "ZADD" | "SADD" => {
                Reply::Error("ERR Out of memory".into())
            }
            "LMOVE" => match self.list(&command[1]).pop_back() {
                None => Reply::Nil,
                Some(job) => {
                    self.list(&command[2]).push_front(job.clone());
                    Reply::Bulk(job)
                }
            },
            "LREM" => {
                let list = self.list(&command[1]);
                let at = list.iter().position(|job| *job == command[3]);
                at.map(|at| list.remove(at));
                Reply::Integer(at.is_some().into())
            }
            "LPOS" => match self
                .list(&command[1])
                .iter()
                .position(|job| *job == command[2])
            {
                Some(at) => Reply::Integer(at as i64),
                None => Reply::Nil,
            },
            "TYPE" => Reply::Ok(match command[1].as_slice() {
                b"q" | b"q:p" => "list",
                _ => "none",
            }),
            "TIME" => Reply::Array(vec![
                Reply::Bulk(b"1700000000".into()),
                Reply::Bulk(b"5".into()),
            ]),
            "ZREMRANGEBYRANK" | "EXPIRE" => Reply::Integer(0),
            "PING" | "CLIENT" | "SELECT" => Reply::Ok("OK"),
            _ => Reply::Error(format!(
                "ERR unknown command `{name}`, with args beginning with: `x`, "
            )),
        }
    }
}

/// Starts the mock on a port, and returns that.
pub fn serve(shared: Shared) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = Arc::clone(&shared);
            thread::spawn(move || serve_client(stream, &shared));
        }
    });
    port
}

fn serve_client(stream: TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream);
    while let Some(command) = read_command(&mut reader) {
        let name = String::from_utf8_lossy(&command[0]).to_uppercase();
        shared.lock().expect("the mock").seen.push(name.clone());
        let reply = match name.as_str() {
            "EVAL" => eval(shared, &command),
            _ => shared.lock().expect("the mock").run(&command),
        };
        let mut wire = Vec::new();
        write_reply(&mut wire, reply);
        if reader.get_mut().write_all(&wire).is_err() {
            return;
        }
    }
}
