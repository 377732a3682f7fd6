//! A producer and a worker of rusty-sidekiq, as its documentation writes them.

mod job;

use async_trait::async_trait;
use sidekiq::{Processor, ProcessorConfig, RedisConnectionManager, RedisPool, Result, Worker};

#[derive(Clone)]
struct Run;

#[async_trait]
impl Worker<(String, String)> for Run {
    async fn perform(&self, (id, _payload): (String, String)) -> Result<()> {
        job::run(&id).await.map_err(sidekiq::Error::Message)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let manager = RedisConnectionManager::new(std::env::var("REDIS_URL").expect("an address"))?;
    let redis: RedisPool = bb8::Pool::builder().build(manager).await?;
    match std::env::args().nth(1).as_deref() {
        Some("producer") => {
            job::enqueue_all(async |id, payload| Run::perform_async(&redis, (id, payload)).await)
                .await;
        }
        _ => {
            let mut config = ProcessorConfig::default();
            if let Some(jobs) = std::env::var("CONCURRENCY")
                .ok()
                .and_then(|n| n.parse().ok())
            {
                config = config.num_workers(jobs);
            }
            let mut processor =
                Processor::new(redis, vec!["default".to_owned()]).with_config(config);
            processor.register(Run);
            processor.run().await;
        }
    }
    Ok(())
}
