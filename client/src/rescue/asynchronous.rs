//! The connection, asynchronous.

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisFuture, RedisResult, Value};

use super::carry::Carried;
use super::learned::Watch;
use super::words::{self, Words};
use super::{How, Noted, Rescue};
use super::{
    error_value, is_noted, is_out_of_order, is_refused, noted, transaction_is_refused,
    value_is_refusal,
};
use crate::asynchronous::drive;

impl<C: ConnectionLike + Send> ConnectionLike for Rescue<C> {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let reply = self.con.req_packed_command(command).await;
            if is_refused(&reply) {
                return match words::words(command) {
                    Some(words) => self.rescue_async(words, reply).await,
                    None => reply,
                };
            }
            if let Ok(value) = &reply
                && words::name(command).is_some_and(is_noted)
                && let Some(words) = words::words(command)
            {
                self.note_async(&words, value).await?;
            }
            reply
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let read = || pipeline.cmd_iter().map(words::words).collect::<Option<_>>();
            if pipeline.is_transaction() {
                return self.transaction_async(pipeline, offset, count).await;
            }
            if let Some(commands) = self.rescuer.0.whole(read)
                && let Some(replies) = self.all_in_one_async(&commands).await?
            {
                return Ok(replies);
            }
            let mut replies = self
                .con
                .req_packed_commands(pipeline, offset, count)
                .await?;
            if pipeline
                .cmd_iter()
                .filter_map(words::name)
                .any(words::is_watch)
            {
                self.watch = Watch::Unknown;
            }
            if replies.iter().any(value_is_refusal)
                && let Some(commands) = read()
            {
                self.rescue_each_async(&commands, &mut replies).await?;
            }
            Ok(replies)
        })
    }

    fn get_db(&self) -> i64 {
        self.con.get_db()
    }
}

impl<C: ConnectionLike + Send> Rescue<C> {
    async fn note_async(&mut self, words: &Words, reply: &Value) -> RedisResult<()> {
        match noted(words) {
            Some(_) if matches!(reply, Value::ServerError(_)) => {}
            Some(Noted::Loaded(text)) => self.rescuer.0.scripts.learn(text, reply),
            Some(Noted::Unwatched) => self.watch = Watch::None,
            Some(Noted::Watched(keys)) => {
                let answer = match self.rescuer.0.fingerprints(keys) {
                    Some(question) => Some(self.con.req_packed_command(&question).await?),
                    None => None,
                };
                self.watch.add(keys, answer);
            }
            None => {}
        }
        Ok(())
    }

    async fn rescue_async(&mut self, words: Words, own: RedisResult<Value>) -> RedisResult<Value> {
        let inner = &self.rescuer.0;
        inner.memory.on_oom();
        let commands = inner.with_texts(vec![words]);
        let carry = inner.carry(self.in_cluster, &commands, How::Each);
        match drive(&mut self.con, carry).await? {
            Carried::Yes(value) => Ok(value),
            Carried::No => inner.refused(&commands[0], own),
        }
    }

    async fn all_in_one_async(&mut self, commands: &[Words]) -> RedisResult<Option<Vec<Value>>> {
        let carry = self.rescuer.0.carry(self.in_cluster, commands, How::Each);
        Ok(match drive(&mut self.con, carry).await? {
            Carried::Yes(Value::Array(replies)) => Some(replies),
            _ => None,
        })
    }

    async fn rescue_each_async(
        &mut self,
        commands: &[Words],
        replies: &mut [Value],
    ) -> RedisResult<()> {
        for at in 0..replies.len().min(commands.len()) {
            if !value_is_refusal(&replies[at]) || is_out_of_order(at, commands, replies) {
                continue;
            }
            let own = Ok(replies[at].clone());
            replies[at] = match self.rescue_async(commands[at].clone(), own).await {
                Err(error) => error_value(error)?,
                Ok(value) => value,
            };
        }
        self.rescuer.0.memory.on_oom();
        Ok(())
    }

    async fn transaction_async(
        &mut self,
        pipeline: &Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        let watch = std::mem::take(&mut self.watch);
        let read = || pipeline.cmd_iter().map(words::words).collect::<Option<_>>();
        if let Some(commands) = self.rescuer.0.whole_transaction(&watch, read)
            && let Some(value) = self.all_or_none_async(&commands, &watch).await?
        {
            if !watch.keys().is_empty() {
                let unwatch = redis::cmd("UNWATCH");
                self.con.req_packed_command(&unwatch).await?;
            }
            return Ok(vec![value]);
        }
        let reply = self.con.req_packed_commands(pipeline, offset, count).await;
        if !transaction_is_refused(&reply) {
            return reply;
        }
        self.rescuer.0.memory.on_oom();
        let Some(commands) = read().filter(|_| watch.is_known()) else {
            return reply;
        };
        let commands = self.rescuer.0.with_texts(commands);
        match self.all_or_none_async(&commands, &watch).await? {
            Some(value) => Ok(vec![value]),
            None => reply,
        }
    }

    async fn all_or_none_async(
        &mut self,
        commands: &[Words],
        watch: &Watch,
    ) -> RedisResult<Option<Value>> {
        let watched = watch.keys();
        let how = How::All { watched };
        let carry = self.rescuer.0.carry(self.in_cluster, commands, how);
        Ok(match drive(&mut self.con, carry).await? {
            Carried::Yes(value) => Some(value),
            Carried::No => None,
        })
    }
}
