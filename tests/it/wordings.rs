//! What servers and proxies say of a command that they do not know, and of scripts
//! that they do not run, leads the Rust client, `examples/wurk.rb` and
//! `examples/worker.py` to the same step: the rows of `docs/clients.md`.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use wurk_client::Wurk;

use crate::interpreters::{interpreters, run};
use crate::lossy::read_command;
use crate::roads::{HEARTBEAT, own_error, queues};

const LANGUAGES: &str = include_str!("../../docs/clients.md");

/// A row of the table: an error, and where it leads.
struct Row {
    says: String,
    of_script: bool,
    leads_to: &'static str,
}

/// The rows under a heading: who, what is said, where it leads, how it is known.
fn rows_of(heading: &str, of_script: bool) -> Vec<Row> {
    let (_, section) = LANGUAGES.split_once(heading).expect("a heading");
    let table = section
        .lines()
        .skip_while(|line| !line.starts_with("| ---"));
    let rows = table.skip(1).take_while(|line| line.starts_with('|'));
    let rows = rows.filter_map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        // What is said stands in code; whatever else happens has no text to read.
        let says = cells[1].strip_prefix('`')?.trim_matches('`').trim();
        Some(Row {
            says: says.to_owned(),
            of_script,
            leads_to: cells[2],
        })
    });
    rows.collect()
}

/// A full server that knows neither the module's command nor, perhaps, scripts.
struct Fake {
    port: u16,
    /// What it says to the module's command, and to the first `EVAL`, which it may
    /// also answer with a nil.
    says: Arc<Mutex<[String; 2]>>,
    scripts: Arc<AtomicUsize>,
}

impl Fake {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let (says, scripts) = (Arc::default(), Arc::default());
        let fake = Self {
            port,
            says: Arc::clone(&says),
            scripts: Arc::clone(&scripts),
        };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (says, scripts) = (Arc::clone(&says), Arc::clone(&scripts));
                thread::spawn(move || answer(&stream, &says, &scripts));
            }
        });
        fake
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Answers as in `row` from now on.
    fn play(&self, row: &Row) {
        let unknown = "-ERR unknown command 'WURK.CLAIM'\r\n".to_owned();
        let says = format!("-{}\r\n", row.says);
        *self.says.lock().expect("the words") = if row.of_script {
            [unknown, says]
        } else {
            [says, String::new()]
        };
        self.scripts.store(0, Ordering::SeqCst);
    }

    /// Where a caller has come: a second script is the one behind a write.
    fn came_to(&self, result: Result<(), String>, of_script: bool) -> String {
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

fn answer(stream: &TcpStream, says: &Mutex<[String; 2]>, scripts: &AtomicUsize) {
    let mut reader = BufReader::new(stream);
    let mut stream = stream;
    let mut nil = "*-1\r\n";
    while let Some((_, name)) = read_command(&mut reader) {
        let [unknown, of_script] = says.lock().expect("the words").clone();
        let reply = match name.as_str() {
            "LMOVE" => "-OOM command not allowed: the fake is full\r\n".to_owned(),
            "EVAL" if scripts.fetch_add(1, Ordering::SeqCst) == 0 && !of_script.is_empty() => {
                of_script
            }
            "EVAL" => nil.to_owned(),
            // A newer redis-py begins with RESP3.
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

/// The Rust client's way.
fn rust(fake: &Fake) -> Result<(), String> {
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

/// A worker's, in another language.
fn worker(fake: &Fake, language: &str, interpreter: &str) -> Result<(), String> {
    let ending = if language == "python" { "py" } else { "rb" };
    let example = format!("examples/worker.{ending}");
    let output = run(interpreter, &[&example, &fake.url(), "mail"]);
    if output.status.success() {
        return Ok(());
    }
    // The last line is the error; before it the ones that led to it may stand.
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let error = if language == "python" {
        text.lines().last()
    } else {
        text.lines().next()
    };
    Err(error.unwrap_or_default().to_owned())
}

/// Sends each row's caller on its way, over a fake server of its own.
fn follow(rows: &[Row], who: &str, call: impl Fn(&Fake) -> Result<(), String>) {
    let fake = Fake::start();
    for row in rows {
        fake.play(row);
        let came_to = fake.came_to(call(&fake), row.of_script);
        assert_eq!(came_to, row.leads_to, "{who}: {}", row.says);
    }
}

pub fn lead_every_language_to_the_same_step() {
    let mut rows = rows_of("### Of the module's command", false);
    let of_script = rows_of("### Of a script", true);
    assert!(rows.len() > 10 && of_script.len() > 10, "the tables");
    rows.extend(of_script);
    let rows = rows.as_slice();
    thread::scope(|scope| {
        scope.spawn(|| follow(rows, "rust", rust));
        for (language, interpreter) in interpreters() {
            scope.spawn(move || follow(rows, language, |fake| worker(fake, language, interpreter)));
        }
    });
}
