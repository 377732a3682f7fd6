//! Random commands, pipelines and transactions, beside a server that is not full: the
//! same replies of the same types, and the same data.

use fastrand::Rng;
use redis::aio::ConnectionLike as _;
use redis::{RedisResult, Value};
use wurk_client::{Rescue, Rescuer};
use wurk_testkit::{Binary, Options, Server};

use super::{connect, random, rescuing};
use crate::client::connections::{block_on, with_timeout};
use crate::support::compare;
use crate::support::inspect::digest;
use crate::support::random::seed;

/// Steps for each protocol and kind of connection, unless `WURK_STEPS` is set.
const STEPS: usize = 1_500;

/// One step, over any connection.
enum Sent {
    Command(redis::Cmd),
    Pipeline(redis::Pipeline),
}

impl Sent {
    fn random(random: &mut Rng) -> Self {
        match random.u8(..4) {
            0 => Self::Pipeline(random::pipeline(random, false)),
            1 => Self::Pipeline(random::pipeline(random, true)),
            _ => Self::Command(random::command(random)),
        }
    }

    /// How many replies are passed over, and how many there are.
    fn counts(pipeline: &redis::Pipeline) -> (usize, usize) {
        match pipeline.is_transaction() {
            true => (pipeline.len() + 1, 1),
            false => (0, pipeline.len()),
        }
    }

    fn over(&self, con: &mut impl redis::ConnectionLike) -> RedisResult<Vec<Value>> {
        match self {
            Self::Command(command) => {
                let value = con.req_command(command).and_then(Value::extract_error);
                value.map(|value| vec![value])
            }
            Self::Pipeline(pipeline) => {
                let (offset, count) = Self::counts(pipeline);
                con.req_packed_commands(&pipeline.get_packed_pipeline(), offset, count)
            }
        }
    }

    async fn over_async(
        &self,
        con: &mut impl redis::aio::ConnectionLike,
    ) -> RedisResult<Vec<Value>> {
        match self {
            Self::Command(command) => {
                let value = con
                    .req_packed_command(command)
                    .await
                    .and_then(Value::extract_error);
                value.map(|value| vec![value])
            }
            Self::Pipeline(pipeline) => {
                let (offset, count) = Self::counts(pipeline);
                con.req_packed_commands(pipeline, offset, count).await
            }
        }
    }

    /// Whether it is rescued on this server with the same replies: before 7.0 the errors
    /// of scripts have other words, and INCRBYFLOAT is not rescued.
    fn suits(&self, binary: &Binary) -> bool {
        let text = self.text();
        binary.loads_modules() || !(text.contains("EVAL") || text.contains("INCRBYFLOAT"))
    }

    fn text(&self) -> String {
        let wire = match self {
            Self::Command(command) => command.get_packed_command(),
            Self::Pipeline(pipeline) => pipeline.get_packed_pipeline(),
        };
        String::from_utf8_lossy(&wire).replace("\r\n", " ")
    }
}

/// Without the place in a script that an error came from, and the order of a map, which
/// Lua does not keep.
fn normalize(reply: RedisResult<Vec<Value>>) -> String {
    let reply = reply.map(|values| values.into_iter().map(sorted).collect::<Vec<_>>());
    let reply = format!("{reply:?}");
    let mut text = String::new();
    let mut rest = reply.as_str();
    while let Some((before, after)) = rest.split_once(" script: ") {
        text += before;
        let end = after.find(['`', ')', '"']).unwrap_or(after.len());
        rest = &after[end..];
    }
    text + rest
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Map(mut pairs) => {
            pairs.sort_by_key(|pair| format!("{pair:?}"));
            Value::Map(pairs)
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        value => value,
    }
}

fn servers(binary: &Binary) -> (Server, Server) {
    let full = Options::new(binary).start();
    full.connect().must("CONFIG SET maxmemory 1");
    (full, Options::new(binary).start())
}

pub fn rescued_commands_agree(binary: &Binary) {
    for protocol in [2, 3] {
        let (full, roomy) = servers(binary);
        let mut rescued = rescuing(&full, protocol);
        let mut plain = connect(&roomy, protocol);
        let set = redis::cmd("SET").arg("now").arg("full").take();
        let seed = seed();
        let mut random = Rng::with_seed(seed);
        for step in 0..compare::steps(STEPS) {
            let sent = Sent::random(&mut random);
            if !sent.suits(binary) {
                continue;
            }
            if let Sent::Pipeline(_) = sent {
                // A second ago is too long to know that the server is full.
                set.exec(&mut rescued).expect("a rescue");
                set.exec(&mut plain).expect("a write");
            }
            let (ours, theirs) = (sent.over(&mut rescued), sent.over(&mut plain));
            assert_eq!(
                normalize(ours),
                normalize(theirs),
                "WURK_SEED={seed}, RESP{protocol}, step {step}: {}",
                sent.text()
            );
        }
        assert_eq!(digest(&mut full.connect()), digest(&mut roomy.connect()));
    }
}

pub fn rescued_commands_agree_asynchronously(binary: &Binary) {
    for protocol in [2, 3] {
        let (full, roomy) = servers(binary);
        let seed = seed();
        let mut random = Rng::with_seed(seed);
        block_on(async {
            let open = async |server: &Server| {
                let url = format!("{}?protocol=resp{protocol}", server.url());
                let client = redis::Client::open(url).expect("an address");
                let config = with_timeout();
                let con = client.get_multiplexed_async_connection_with_config(&config);
                con.await.expect("a connection")
            };
            let mut rescued: Rescue<_> = Rescuer::with_limit(0).wrap(open(&full).await);
            let mut plain = open(&roomy).await;
            let set = redis::cmd("SET").arg("now").arg("full").take();
            for step in 0..compare::steps(STEPS) {
                let sent = Sent::random(&mut random);
                if !sent.suits(binary) {
                    continue;
                }
                if let Sent::Pipeline(_) = sent {
                    rescued.req_packed_command(&set).await.expect("a rescue");
                    plain.req_packed_command(&set).await.expect("a write");
                }
                let ours = sent.over_async(&mut rescued).await;
                let theirs = sent.over_async(&mut plain).await;
                assert_eq!(
                    normalize(ours),
                    normalize(theirs),
                    "WURK_SEED={seed}, RESP{protocol}, step {step}: {}",
                    sent.text()
                );
            }
        });
        assert_eq!(digest(&mut full.connect()), digest(&mut roomy.connect()));
    }
}
