//! A producer and a worker of apalis, as its documentation writes them. With `RESCUE`
//! in its environment the worker's connection is wrapped in one that rescues its
//! commands, which is the one line that a program changes.

#[path = "../../rusty-sidekiq/src/job.rs"]
mod job;

use std::env;

use apalis::layers::retry::RetryPolicy;
use apalis::prelude::*;
use apalis_redis::RedisStorage;
use redis::aio::ConnectionLike;
use serde::{Deserialize, Serialize};
use wurk_client::Rescuer;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Job {
    id: String,
    payload: String,
}

async fn run(job: Job) -> Result<(), BoxDynError> {
    Ok(job::run(&job.id).await?)
}

async fn work<C: ConnectionLike + Clone + Send + Sync + Unpin + 'static>(con: C) {
    let worker = WorkerBuilder::new(format!("worker-{}", std::process::id()))
        .backend(RedisStorage::<Job, _>::new(con))
        .retry(RetryPolicy::retries(3))
        .concurrency(4)
        .build(run);
    if let Err(error) = worker.run().await {
        eprintln!("{error}");
    }
}

#[tokio::main]
async fn main() {
    let url = env::var("REDIS_URL").expect("an address");
    let client = redis::Client::open(url).expect("an address");
    let con = client.get_multiplexed_async_connection().await;
    let con = con.expect("a connection");
    if env::args().nth(1).as_deref() == Some("producer") {
        let mut storage = RedisStorage::<Job, _>::new(con);
        job::enqueue_all(async |id, payload| storage.push(Job { id, payload }).await).await;
    } else if env::var("RESCUE").is_ok() {
        let limit = env::var("WURK_RESCUE_LIMIT").ok();
        let limit = limit.and_then(|limit| limit.parse().ok()).unwrap_or(10);
        work(Rescuer::with_limit(limit).wrap(con)).await;
    } else {
        work(con).await;
    }
}
