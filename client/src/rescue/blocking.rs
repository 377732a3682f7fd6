//! The connection, blocking.

use redis::{Cmd, ConnectionLike, RedisResult, Value};

use super::carry::Carried;
use super::learned::Watch;
use super::words::{self, Words};
use super::{How, Noted, Rescue};
use super::{
    error_value, is_noted, is_out_of_order, is_refused, noted, transaction_is_refused,
    value_is_refusal,
};
use crate::blocking::drive;

impl<C: ConnectionLike> ConnectionLike for Rescue<C> {
    fn req_packed_command(&mut self, wire: &[u8]) -> RedisResult<Value> {
        let reply = self.con.req_packed_command(wire);
        let name = wire.splitn(4, |byte| *byte == b'\n').nth(2);
        let name = name.and_then(|name| name.strip_suffix(b"\r"));
        self.after(name, reply, || words::unpack(wire)?.pop())
    }

    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        let reply = self.con.req_command(command);
        self.after(words::name(command), reply, || words::words(command))
    }

    fn req_packed_commands(
        &mut self,
        wire: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        if offset > 0 {
            return self.transaction(wire, offset, count);
        }
        if let Some(commands) = self.rescuer.0.whole(|| words::unpack(wire))
            && let Some(replies) = self.all_in_one(&commands)?
        {
            return Ok(replies);
        }
        let mut replies = self.con.req_packed_commands(wire, offset, count)?;
        if words::watches(wire) {
            self.watch = Watch::Unknown;
        }
        if replies.iter().any(value_is_refusal)
            && let Some(commands) = words::unpack(wire)
        {
            self.rescue_each(&commands, &mut replies)?;
        }
        Ok(replies)
    }

    fn get_db(&self) -> i64 {
        self.con.get_db()
    }

    fn supports_pipelining(&self) -> bool {
        self.con.supports_pipelining()
    }

    fn check_connection(&mut self) -> bool {
        self.con.check_connection()
    }

    fn is_open(&self) -> bool {
        self.con.is_open()
    }
}

impl<C: ConnectionLike> Rescue<C> {
    /// The reply to a command, which is rescued if it was refused.
    fn after(
        &mut self,
        name: Option<&[u8]>,
        reply: RedisResult<Value>,
        read: impl FnOnce() -> Option<Words>,
    ) -> RedisResult<Value> {
        if is_refused(&reply) {
            return match read() {
                Some(words) => self.rescue(words, reply),
                None => reply,
            };
        }
        if let Ok(value) = &reply
            && name.is_some_and(is_noted)
            && let Some(words) = read()
        {
            self.note(&words, value)?;
        }
        reply
    }

    fn note(&mut self, words: &Words, reply: &Value) -> RedisResult<()> {
        match noted(words) {
            Some(_) if matches!(reply, Value::ServerError(_)) => {}
            Some(Noted::Loaded(text)) => self.rescuer.0.scripts.learn(text, reply),
            Some(Noted::Unwatched) => self.watch = Watch::None,
            Some(Noted::Watched(keys)) => {
                let question = self.rescuer.0.fingerprints(keys);
                let answer = question.map(|question| self.con.req_command(&question));
                self.watch.add(keys, answer.transpose()?);
            }
            None => {}
        }
        Ok(())
    }

    /// One command that was refused.
    fn rescue(&mut self, words: Words, own: RedisResult<Value>) -> RedisResult<Value> {
        let inner = &self.rescuer.0;
        inner.memory.on_oom();
        let commands = inner.with_texts(vec![words]);
        let carry = inner.carry(self.in_cluster, &commands, How::Each);
        match drive(&mut self.con, carry)? {
            Carried::Yes(value) => Ok(value),
            Carried::No => inner.refused(&commands[0], own),
        }
    }

    /// A pipeline as one script. `None` if no server runs it: nothing has run.
    fn all_in_one(&mut self, commands: &[Words]) -> RedisResult<Option<Vec<Value>>> {
        let carry = self.rescuer.0.carry(self.in_cluster, commands, How::Each);
        Ok(match drive(&mut self.con, carry)? {
            Carried::Yes(Value::Array(replies)) => Some(replies),
            _ => None,
        })
    }

    /// The commands of a pipeline that were refused, in order.
    fn rescue_each(&mut self, commands: &[Words], replies: &mut [Value]) -> RedisResult<()> {
        for at in 0..replies.len().min(commands.len()) {
            if !value_is_refusal(&replies[at]) || is_out_of_order(at, commands, replies) {
                continue;
            }
            let own = Ok(replies[at].clone());
            replies[at] = match self.rescue(commands[at].clone(), own) {
                Err(error) => error_value(error)?,
                Ok(value) => value,
            };
        }
        self.rescuer.0.memory.on_oom();
        Ok(())
    }

    fn transaction(&mut self, wire: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        // Whatever becomes of it, nothing is watched any more.
        let watch = std::mem::take(&mut self.watch);
        let read = || {
            // Between MULTI and EXEC.
            let commands = words::unpack(wire)?;
            Some(commands.get(1..commands.len() - 1)?.to_vec())
        };
        if let Some(commands) = self.rescuer.0.whole_transaction(&watch, read)
            && let Some(value) = self.all_or_none(&commands, &watch)?
        {
            if !watch.keys().is_empty() {
                redis::cmd("UNWATCH").exec(&mut self.con)?;
            }
            return Ok(vec![value]);
        }
        let reply = self.con.req_packed_commands(wire, offset, count);
        if !transaction_is_refused(&reply) {
            return reply;
        }
        self.rescuer.0.memory.on_oom();
        let Some(commands) = read().filter(|_| watch.is_known()) else {
            return reply;
        };
        let commands = self.rescuer.0.with_texts(commands);
        match self.all_or_none(&commands, &watch)? {
            Some(value) => Ok(vec![value]),
            None => reply,
        }
    }

    /// A transaction as one script. `None` if no server runs it: nothing has run.
    fn all_or_none(&mut self, commands: &[Words], watch: &Watch) -> RedisResult<Option<Value>> {
        let watched = watch.keys();
        let how = How::All { watched };
        let carry = self.rescuer.0.carry(self.in_cluster, commands, how);
        Ok(match drive(&mut self.con, carry)? {
            Carried::Yes(value) => Some(value),
            Carried::No => None,
        })
    }
}
