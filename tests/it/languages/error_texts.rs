//! What servers and proxies reply to a command that they do not know, and to scripts
//! that they do not run: the Rust client, `examples/wurk.rb` and `examples/worker.py`
//! classify each text as `docs/clients.md` does.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use wurk_client::Wurk;

use crate::support::caller::{HEARTBEAT, own_error, queues};
use crate::support::interpreters::{interpreters, run};
use crate::support::lossy_proxy::read_command;

const LANGUAGES: &str = include_str!("../../../docs/clients.md");

/// A row of the table: an error, and the step that it leads to.
struct Row {
    error: String,
    of_script: bool,
    next_step: &'static str,
}

/// The rows under a heading: the server, its error, the next step, the source.
fn rows_of(heading: &str, of_script: bool) -> Vec<Row> {
    let (_, section) = LANGUAGES.split_once(heading).expect("a heading");
    let table = section
        .lines()
        .skip_while(|line| !line.starts_with("| ---"));
    let rows = table.skip(1).take_while(|line| line.starts_with('|'));
    let rows = rows.filter_map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        // Error texts are in code; a row without one has no text to send.
        let error = cells[1].strip_prefix('`')?.trim_matches('`').trim();
        Some(Row {
            error: error.to_owned(),
            of_script,
            next_step: cells[2],
        })
    });
    rows.collect()
}

/// A fake server that is full, without the module, and perhaps without scripts.
struct FakeServer {
    port: u16,
    /// Its replies to the module's command and to the first `EVAL`; the second may be
    /// empty, for a nil.
    replies: Arc<Mutex<[String; 2]>>,
    scripts: Arc<AtomicUsize>,
}

impl FakeServer {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let (replies, scripts) = (Arc::default(), Arc::default());
        let fake = Self {
            port,
            replies: Arc::clone(&replies),
            scripts: Arc::clone(&scripts),
        };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (replies, scripts) = (Arc::clone(&replies), Arc::clone(&scripts));
                thread::spawn(move || answer(&stream, &replies, &scripts));
            }
        });
        fake
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Replies as in `row` from now on.
    fn reply_as_in(&self, row: &Row) {
        let unknown = "-ERR unknown command 'WURK.CLAIM'\r\n".to_owned();
        let error = format!("-{}\r\n", row.error);
        *self.replies.lock().expect("the replies") = if row.of_script {
            [unknown, error]
        } else {
            [error, String::new()]
        };
        self.scripts.store(0, Ordering::SeqCst);
    }

    /// The step that a caller has reached: a second script is the write-first script.
    fn step(&self, result: Result<(), String>, of_script: bool) -> String {
        let scripts = self.scripts.load(Ordering::SeqCst);
        match (result, scripts) {
            (Ok(()), 1) if !of_script => "step 2".into(),
            (Ok(()), 2) if of_script => "step 3".into(),
            (Err(text), _) if text.contains("the fake is full") => "step 4".into(),
            (Err(_), 0) if !of_script => "the answer".into(),
            (Err(_), 1) if of_script => "the answer".into(),
            (result, scripts) => format!("{result:?} after {scripts} scripts"),
        }
    }
}

fn answer(stream: &TcpStream, replies: &Mutex<[String; 2]>, scripts: &AtomicUsize) {
    let mut reader = BufReader::new(stream);
    let mut stream = stream;
    let mut nil = "*-1\r\n";
    while let Some((_, name)) = read_command(&mut reader) {
        let [unknown, of_script] = replies.lock().expect("the replies").clone();
        let reply = match name.as_str() {
            "ZRANGEBYSCORE" => "*0\r\n".to_owned(),
            "LMOVE" => "-OOM command not allowed: the fake is full\r\n".to_owned(),
            "EVAL" if scripts.fetch_add(1, Ordering::SeqCst) == 0 && !of_script.is_empty() => {
                of_script
            }
            "EVAL" => nil.to_owned(),
            // Newer versions of redis-py use RESP3.
            "HELLO" => {
                nil = "_\r\n";
                "%1\r\n$5\r\nproto\r\n:3\r\n".to_owned()
            }
            name if name.starts_with("WURK.") => unknown,
            _ => "+OK\r\n".to_owned(),
        };
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

/// Claims by the Rust client.
fn rust(fake: &FakeServer) -> Result<(), String> {
    let client = redis::Client::open(fake.url()).expect("an address");
    let mut con = client.get_connection().expect("a connection");
    let queues = queues();
    match Wurk::new()
        .or_else_oom(own_error())
        .claim(&mut con, &HEARTBEAT, &queues)
    {
        Ok(_) => Ok(()),
        Err(error) if error == own_error() => Err("the fake is full".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Claims by the example worker in another language.
fn worker(fake: &FakeServer, language: &str, interpreter: &str) -> Result<(), String> {
    let ending = if language == "python" { "py" } else { "rb" };
    let example = format!("examples/worker.{ending}");
    let output = run(interpreter, &[&example, &fake.url(), "mail"]);
    if output.status.success() {
        return Ok(());
    }
    // Python prints the error last, and Ruby first.
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let error = if language == "python" {
        text.lines().last()
    } else {
        text.lines().next()
    };
    Err(error.unwrap_or_default().to_owned())
}

/// Checks the step that a caller reaches by each row, with a fake server of its own.
fn check_steps(rows: &[Row], who: &str, call: impl Fn(&FakeServer) -> Result<(), String>) {
    let fake = FakeServer::start();
    for row in rows {
        fake.reply_as_in(row);
        let step = fake.step(call(&fake), row.of_script);
        assert_eq!(step, row.next_step, "{who}: {}", row.error);
    }
}

pub fn are_classified_alike_in_every_language() {
    let mut rows = rows_of("### Of the module's command", false);
    let of_script = rows_of("### Of a script", true);
    assert!(rows.len() > 10 && of_script.len() > 10, "the tables");
    rows.extend(of_script);
    let rows = rows.as_slice();
    thread::scope(|scope| {
        scope.spawn(|| check_steps(rows, "rust", rust));
        for (language, interpreter) in interpreters() {
            scope.spawn(move || {
                check_steps(rows, language, |fake| worker(fake, language, interpreter))
            });
        }
    });
}
