//! Requeues the jobs of processes that died.

use redis::{Connection, RedisResult};
use wurk_client::Queue;

use crate::{PROCESSES, Shared};

impl Shared {
    /// Requeues the jobs of processes whose heartbeat has expired.
    pub(crate) fn reap(&self, con: &mut Connection) -> RedisResult<()> {
        let processes: Vec<Vec<u8>> = redis::cmd("SMEMBERS").arg(PROCESSES).query(con)?;
        for dead in processes {
            if redis::cmd("EXISTS").arg(&dead).query(con)? {
                continue;
            }
            for private in lists(con, &dead, b"*")? {
                let queue = Queue::new(public_of(&private), private.as_slice());
                self.requeue_all(con, &queue)?;
            }
            redis::cmd("SREM").arg(PROCESSES).arg(&dead).exec(con)?;
        }
        Ok(())
    }
}

/// The private lists of a process, `<public>|<host>|<pid>|<nonce>|<index>`, from its
/// identity, `<host>:<pid>:<nonce>`. `index` is a pattern.
pub(crate) fn lists(
    con: &mut Connection,
    identity: &[u8],
    index: &[u8],
) -> RedisResult<Vec<Vec<u8>>> {
    let mut pattern = b"queue:*|".to_vec();
    for byte in identity {
        match byte {
            b':' => pattern.push(b'|'),
            b'*' | b'?' | b'[' | b']' | b'\\' => pattern.extend([b'\\', *byte]),
            _ => pattern.push(*byte),
        }
    }
    pattern.push(b'|');
    pattern.extend(index);
    redis::cmd("KEYS").arg(pattern).query(con)
}

/// The queue of a private list. The queue's name may contain the separator too.
fn public_of(private: &[u8]) -> &[u8] {
    let public = private.rsplitn(5, |byte| *byte == b'|').nth(4);
    public.unwrap_or(private)
}
