//! `EVAL` of the Dragonfly mock: the scripts really run, in Lua 5.1.

use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value, Variadic};

use super::{Reply, Shared};

pub fn eval(shared: &Shared, command: &[Vec<u8>]) -> Reply {
    if command[1].starts_with(b"#!") {
        return Reply::Error("ERR user_script:1: unexpected symbol near '#'".into());
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
        Reply::Error(format!(
            "ERR Error running script (call to f_0): @user_script:1: {error}"
        ))
    })
}

fn run_script(
    shared: &Shared,
    text: &[u8],
    keys: &[Vec<u8>],
    args: &[Vec<u8>],
) -> mlua::Result<Reply> {
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
            let mut mock = shared.lock().expect("the mock");
            mock.seen
                .push(format!(".{}", String::from_utf8_lossy(&command[0])));
            match mock.run(&command) {
                Reply::Error(text) if raises => {
                    Err(mlua::Error::runtime(text.trim_start_matches("ERR ")))
                }
                reply => to_lua(lua, reply),
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

fn to_lua(lua: &Lua, reply: Reply) -> mlua::Result<Value> {
    let one = |field: &str, text: &str| {
        let table = lua.create_table()?;
        table.set(field, text)?;
        Ok(Value::Table(table))
    };
    match reply {
        Reply::Nil => Ok(Value::Boolean(false)),
        Reply::Ok(text) => one("ok", text),
        Reply::Error(text) => one("err", &text),
        Reply::Integer(n) => Ok(Value::Number(n as f64)),
        Reply::Bulk(bytes) => Ok(Value::String(lua.create_string(bytes)?)),
        Reply::Array(items) => {
            let items = items
                .into_iter()
                .map(|item| to_lua(lua, item))
                .collect::<mlua::Result<Vec<_>>>()?;
            Ok(Value::Table(lua.create_sequence_from(items)?))
        }
    }
}

fn from_lua(value: Value) -> mlua::Result<Reply> {
    Ok(match value {
        Value::Integer(n) => Reply::Integer(n),
        Value::Number(n) => Reply::Integer(n as i64),
        Value::String(bytes) => Reply::Bulk(bytes.as_bytes().to_vec()),
        Value::Table(table) => match field(&table, "err")? {
            Some(text) => Reply::Error(text),
            None if field(&table, "ok")?.is_some() => Reply::Ok("OK"),
            None => Reply::Array(
                table
                    .sequence_values()
                    .map(|item| from_lua(item?))
                    .collect::<mlua::Result<_>>()?,
            ),
        },
        _ => Reply::Nil,
    })
}

fn field(table: &Table, name: &str) -> mlua::Result<Option<String>> {
    table.get(name)
}
