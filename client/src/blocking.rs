//! The calls over a blocking connection.

use std::time::Duration;

use redis::{ConnectionLike, RedisError, RedisResult};

use crate::calls::{Call, Claim, Claimed, Heartbeat, Lock, Queue, Requeue, Zadd};
use crate::ladder::Ladder;
use crate::route::Wurk;

impl Wurk {
    /// Takes the next job: moves the tail of the first queue that holds one to
    /// the head of its private list, and writes the heartbeat, job or none.
    ///
    /// `queues` are looked at in order. `None` when all are empty; without
    /// queues nothing is sent. `oom` is the error that sent the caller here.
    ///
    /// # Errors
    /// `oom`, unchanged, where no road leads on (the server's own refusal where
    /// the caller brought none); every other error of the server as it is, e.g.
    /// `WRONGTYPE`. No job has moved then, unless the reply was lost: a job that
    /// was claimed in that moment stands in the private list.
    ///
    /// In the server's words: `WURK.CLAIM`, or `HSET`, `SADD`, `EXPIRE`, `LMOVE`.
    pub fn claim<'q>(
        &self,
        con: &mut dyn ConnectionLike,
        heartbeat: &Heartbeat<'_>,
        queues: &'q [Queue],
        oom: Option<RedisError>,
    ) -> RedisResult<Option<Claimed<'q>>> {
        if queues.is_empty() {
            return Ok(None);
        }
        self.run(con, &Claim { heartbeat, queues }, oom)
    }

    /// Gives a job back: it will be the next that is claimed from `public`.
    /// `false` when it has left the private list since.
    ///
    /// # Errors
    /// As for [`claim`](Self::claim). The job stands in one of the lists.
    ///
    /// In the server's words: `WURK.REQUEUE`, or `RPUSH` and `LREM`.
    pub fn requeue(
        &self,
        con: &mut dyn ConnectionLike,
        private: &[u8],
        public: &[u8],
        job: &[u8],
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run(
            con,
            &Requeue {
                private,
                public,
                job,
            },
            oom,
        )
    }

    /// Takes a lock that lapses after `ttl` (in whole milliseconds, rounded up).
    /// `false` while somebody holds it.
    ///
    /// # Errors
    /// As for [`claim`](Self::claim); nothing has been written.
    ///
    /// In the server's words: `WURK.LOCK`, or `SET key 1 NX PX ttl`.
    pub fn lock(
        &self,
        con: &mut dyn ConnectionLike,
        key: &[u8],
        ttl: Duration,
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run(con, &Lock { key, ttl }, oom)
    }

    /// Adds `member` to a sorted set: a failed job to where its retry is waited
    /// for. `false` when it was there and only its score was updated.
    ///
    /// # Errors
    /// As for [`claim`](Self::claim); nothing has been written.
    ///
    /// In the server's words: `WURK.ZADD`, or `ZADD key score member`.
    pub fn zadd(
        &self,
        con: &mut dyn ConnectionLike,
        key: &[u8],
        score: f64,
        member: &[u8],
        oom: Option<RedisError>,
    ) -> RedisResult<bool> {
        self.run(con, &Zadd { key, score, member }, oom)
    }

    fn run<C: Call>(
        &self,
        con: &mut dyn ConnectionLike,
        call: &C,
        oom: Option<RedisError>,
    ) -> RedisResult<C::Reply> {
        let mut ladder = Ladder::new(self, C::KIND, oom);
        loop {
            let reply = con.req_command(&call.command(ladder.road()));
            if let Some(result) = ladder.next(reply) {
                return call.reply(result?);
            }
        }
    }
}
