//! What the tests share, beside `testkit`, which starts the servers.

pub mod backend;
pub mod caller;
pub mod cluster;
pub mod compare;
pub mod dragonfly_mock;
pub mod events;
pub mod example_worker;
pub mod full_server;
pub mod imports;
pub mod inspect;
pub mod interpreters;
pub mod lossy_proxy;
pub mod pipeline_proxy;
pub mod programs;
pub mod random;
pub mod tls;
pub mod wait;
pub mod waiter;
