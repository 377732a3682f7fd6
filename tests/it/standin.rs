use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use mlua::{Lua, MultiValue, Table, Value, Variadic};
use wurk_client::{Claimed, Queue, Wurk, is_oom};

use crate::roads::{HEARTBEAT, own_error, queues};

/// A full server that answers as Dragonfly does: `ERR Out of memory` with no
/// code of its own; `LMOVE` and `LREM` pass, whatever grows is refused, inside
/// scripts too; and it cannot read `#!lua`. Scripts really run, in Lua 5.1.
#[derive(Default)]
struct Standin {
    public: VecDeque<Vec<u8>>,
    private: VecDeque<Vec<u8>>,
    /// The names of the commands that came, those in scripts with a dot.
    seen: Vec<String>,
}

/// A reply, as far as the stand-in has them.
enum Said {
    Nil,
    Ok(&'static str),
    Integer(i64),
    Bulk(Vec<u8>),
    Array(Vec<Said>),
    Error(String),
}

type Shared = Arc<Mutex<Standin>>;

impl Standin {
    fn list(&mut self, key: &[u8]) -> &mut VecDeque<Vec<u8>> {
        if key == b"q" {
            &mut self.public
        } else {
            &mut self.private
        }
    }

    /// A command, from a client or from inside a script.
    fn run(&mut self, command: &[Vec<u8>]) -> Said {
        let name = String::from_utf8_lossy(&command[0]).to_uppercase();
        match name.as_str() {
            "RPUSH" | "LPUSH" | "HSET" | "SET" | "ZADD" | "SADD" => {
                Said::Error("ERR Out of memory".into())
            }
            "LMOVE" => match self.list(&command[1]).pop_back() {
                None => Said::Nil,
                Some(job) => {
                    self.list(&command[2]).push_front(job.clone());
                    Said::Bulk(job)
                }
            },
            "LREM" => {
                let list = self.list(&command[1]);
                let at = list.iter().position(|job| *job == command[3]);
                at.map(|at| list.remove(at));
                Said::Integer(at.is_some().into())
            }
            "LPOS" => match self
                .list(&command[1])
                .iter()
                .position(|job| *job == command[2])
            {
                Some(at) => Said::Integer(at as i64),
                None => Said::Nil,
            },
            "TYPE" => Said::Ok(match command[1].as_slice() {
                b"q" | b"q:p" => "list",
                _ => "none",
            }),
            "TIME" => Said::Array(vec![
                Said::Bulk(b"1700000000".into()),
                Said::Bulk(b"5".into()),
            ]),
            "ZREMRANGEBYRANK" | "EXPIRE" => Said::Integer(0),
            "PING" | "CLIENT" | "SELECT" => Said::Ok("OK"),
            _ => Said::Error(format!(
                "ERR unknown command `{name}`, with args beginning with: `x`, "
            )),
        }
    }
}

fn eval(shared: &Shared, command: &[Vec<u8>]) -> Said {
    if command[1].starts_with(b"#!") {
        return Said::Error("ERR user_script:1: unexpected symbol near '#'".into());
    }
    let keys: usize = String::from_utf8_lossy(&command[2])
        .parse()
        .expect("a number of keys");
    let (keys, args) = command[3..].split_at(keys);
    run_script(shared, &command[1], keys, args).unwrap_or_else(|error| {
        let error = error.to_string();
        let error = error
            .trim_start_matches("runtime error: ")
            .lines()
            .next()
            .unwrap_or_default();
        Said::Error(format!(
            "ERR Error running script (call to f_0): @user_script:1: {error}"
        ))
    })
}

fn run_script(
    shared: &Shared,
    text: &[u8],
    keys: &[Vec<u8>],
    args: &[Vec<u8>],
) -> mlua::Result<Said> {
    let lua = Lua::new();
    let strings = |from: &[Vec<u8>]| {
        lua.create_sequence_from(
            from.iter()
                .map(|bytes| lua.create_string(bytes))
                .collect::<Result<Vec<_>, _>>()?,
        )
    };
    lua.globals().set("KEYS", strings(keys)?)?;
    lua.globals().set("ARGV", strings(args)?)?;
    let redis = lua.create_table()?;
    for (name, raises) in [("call", true), ("pcall", false)] {
        let shared = Arc::clone(shared);
        let call = move |lua: &Lua, args: Variadic<mlua::LuaString>| {
            let command: Vec<_> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            let mut standin = shared.lock().expect("a stand-in");
            standin
                .seen
                .push(format!(".{}", String::from_utf8_lossy(&command[0])));
            match standin.run(&command) {
                Said::Error(text) if raises => {
                    Err(mlua::Error::runtime(text.trim_start_matches("ERR ")))
                }
                said => to_lua(lua, said),
            }
        };
        redis.set(name, lua.create_function(call)?)?;
    }
    let error_reply = |lua: &Lua, text: mlua::LuaString| {
        let reply = lua.create_table()?;
        reply.set("err", text)?;
        Ok(reply)
    };
    redis.set("error_reply", lua.create_function(error_reply)?)?;
    lua.globals().set("redis", redis)?;
    let returned: MultiValue = lua.load(text).eval()?;
    from_lua(returned.into_iter().next().unwrap_or(Value::Nil))
}

fn to_lua(lua: &Lua, said: Said) -> mlua::Result<Value> {
    let one = |field: &str, text: &str| {
        let table = lua.create_table()?;
        table.set(field, text)?;
        Ok(Value::Table(table))
    };
    match said {
        Said::Nil => Ok(Value::Boolean(false)),
        Said::Ok(text) => one("ok", text),
        Said::Error(text) => one("err", &text),
        Said::Integer(n) => Ok(Value::Number(n as f64)),
        Said::Bulk(bytes) => Ok(Value::String(lua.create_string(bytes)?)),
        Said::Array(items) => {
            let items = items
                .into_iter()
                .map(|item| to_lua(lua, item))
                .collect::<mlua::Result<Vec<_>>>()?;
            Ok(Value::Table(lua.create_sequence_from(items)?))
        }
    }
}

fn from_lua(value: Value) -> mlua::Result<Said> {
    Ok(match value {
        Value::Integer(n) => Said::Integer(n),
        Value::Number(n) => Said::Integer(n as i64),
        Value::String(bytes) => Said::Bulk(bytes.as_bytes().to_vec()),
        Value::Table(table) => match field(&table, "err")? {
            Some(text) => Said::Error(text),
            None if field(&table, "ok")?.is_some() => Said::Ok("OK"),
            None => Said::Array(
                table
                    .sequence_values()
                    .map(|item| from_lua(item?))
                    .collect::<mlua::Result<_>>()?,
            ),
        },
        _ => Said::Nil,
    })
}

fn field(table: &Table, name: &str) -> mlua::Result<Option<String>> {
    table.get(name)
}

fn serve(shared: Shared) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = Arc::clone(&shared);
            thread::spawn(move || answer(stream, &shared));
        }
    });
    port
}

fn answer(stream: TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream);
    while let Some(command) = read_command(&mut reader) {
        let name = String::from_utf8_lossy(&command[0]).to_uppercase();
        shared.lock().expect("a stand-in").seen.push(name.clone());
        let said = match name.as_str() {
            "EVAL" => eval(shared, &command),
            _ => shared.lock().expect("a stand-in").run(&command),
        };
        let mut wire = Vec::new();
        write_said(&mut wire, said);
        if reader.get_mut().write_all(&wire).is_err() {
            return;
        }
    }
}

fn read_command(reader: &mut impl BufRead) -> Option<Vec<Vec<u8>>> {
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

fn write_said(wire: &mut Vec<u8>, said: Said) {
    match said {
        Said::Nil => wire.extend(b"$-1\r\n"),
        Said::Ok(text) => wire.extend(format!("+{text}\r\n").bytes()),
        Said::Error(text) => {
            wire.extend(format!("-{}\r\n", text.replace(['\r', '\n'], " ")).bytes())
        }
        Said::Integer(n) => wire.extend(format!(":{n}\r\n").bytes()),
        Said::Bulk(bytes) => {
            wire.extend(format!("${}\r\n", bytes.len()).bytes());
            wire.extend(bytes);
            wire.extend(b"\r\n");
        }
        Said::Array(items) => {
            wire.extend(format!("*{}\r\n", items.len()).bytes());
            items.into_iter().for_each(|item| write_said(wire, item));
        }
    }
}

/// No job is lost, and the caller gets its own error.
pub fn loses_no_job() {
    let standin = Standin {
        public: [b"a".to_vec(), b"b".to_vec()].into(),
        private: [b"mine".to_vec()].into(),
        ..Standin::default()
    };
    let shared = Arc::new(Mutex::new(standin));
    let port = serve(Arc::clone(&shared));
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).expect("an address");
    let mut con = client.get_connection().expect("a connection");
    let oom = redis::cmd("RPUSH")
        .arg("q")
        .arg("x")
        .exec(&mut con)
        .expect_err("a full server");
    assert!(is_oom(&oom), "{oom}");

    let (wurk, queues) = (Wurk::new(), queues());
    for _ in 0..2 {
        let error = wurk
            .or_else_oom(own_error())
            .claim(&mut con, &HEARTBEAT, &queues)
            .expect_err("no road");
        assert_eq!(error, own_error());
        let error = wurk
            .or_else_oom(own_error())
            .requeue(&mut con, &Claimed::new(&Queue::new(b"q", b"q:p"), b"mine"))
            .expect_err("no road");
        assert_eq!(error, own_error());
        let error = wurk
            .or_else_oom(own_error())
            .try_lock(&mut con, b"l", HEARTBEAT.ttl)
            .expect_err("no road");
        assert_eq!(error, own_error());
        let error = wurk
            .or_else_oom(own_error())
            .zadd(&mut con, b"z", 1.0, b"m")
            .expect_err("no road");
        assert_eq!(error, own_error());
    }
    let error = wurk
        .requeue(&mut con, &Claimed::new(&Queue::new(b"q", b"q:p"), b"mine"))
        .expect_err("no road");
    assert!(
        is_oom(&error),
        "{error}: the server's own, where the caller brought none"
    );

    let standin = shared.lock().expect("a stand-in");
    assert_eq!(
        standin.public,
        [b"a".to_vec(), b"b".to_vec()],
        "no job has moved"
    );
    assert_eq!(standin.private, [b"mine".to_vec()], "none is lost");
    for name in [".ZREMRANGEBYRANK", ".HSET", ".RPUSH", ".SET", ".ZADD"] {
        assert!(
            standin.seen.iter().any(|seen| seen == name),
            "the scripts have come as far as {name}"
        );
    }
    assert!(
        !standin.seen.iter().any(|seen| seen == ".LREM"),
        "nothing is removed before it is pushed"
    );
}
