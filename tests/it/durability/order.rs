//! The order in which jobs are claimed.

use redis::Client;
use wurk_client::Wurk;
use wurk_testkit::{Binary, Options};

use super::kills::{job, queues};
use crate::support::caller::HEARTBEAT;

/// Jobs are claimed FIFO, requeued jobs next, and lists in their order.
pub fn jobs_keep_their_order(binary: &Binary) {
    let server = Options::new(binary).module_if_supported().start();
    let mut con = server.connect();
    for number in 0..300 {
        con.call(&[
            b"LPUSH".as_slice(),
            [b"q1", b"q2"][number % 2],
            &job(number),
        ]);
    }
    con.must("CONFIG SET maxmemory 1");
    let client = Client::open(server.url()).expect("an address");
    let mut worker = client.get_connection().expect("a connection");
    let (wurk, queues) = (Wurk::new(), queues(0));
    let mut random = fastrand::Rng::with_seed(3);
    // All jobs of the first list come before those of the second.
    let mut expected = (0..300).step_by(2).chain((1..300).step_by(2)).peekable();
    while let Some(claimed) = wurk
        .claim(&mut worker, &HEARTBEAT, &queues)
        .expect("a claim")
    {
        assert_eq!(
            claimed.job,
            job(*expected.peek().expect("one job too many"))
        );
        if random.u8(..4) == 0 {
            assert!(wurk.requeue(&mut worker, &claimed).expect("a requeue"));
        } else {
            expected.next();
        }
    }
    assert_eq!(expected.next(), None, "every job was claimed");
}
