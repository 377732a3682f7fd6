//! What wurk's tests, demo and benchmark share.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`binary`] | the servers on this machine, and the module to load |
//! | [`options`] | how a server is started |
//! | [`server`] | a running server in a temporary folder |
//! | [`resp`], [`reply`] | the wire protocol, byte for byte, RESP2 and RESP3 |
//! | [`aof`] | the commands in an append-only file |
//! | [`jobs`] | job payloads as job libraries write them |
//! | [`child`] | child processes that do not outlive this program |
//! | [`libraries`] | real queue libraries, their producers and workers |

pub mod aof;
pub mod binary;
pub mod child;
pub mod jobs;
pub mod libraries;
pub mod options;
pub mod reply;
pub mod resp;
pub mod server;

pub use binary::Binary;
pub use options::Options;
pub use reply::Reply;
pub use resp::Resp;
pub use server::Server;
