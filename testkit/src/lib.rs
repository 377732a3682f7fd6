//! What wurk's tests, demo and benchmark share.
//!
//! | room | what is in it |
//! | --- | --- |
//! | [`binary`] | the servers that are on this machine, and the module to load |
//! | [`server`] | one of them, started in a temporary folder and stopped again |
//! | [`resp`] | its wire, byte for byte, RESP2 and RESP3 |
//! | [`aof`] | the commands that it wrote to its append-only file |
//! | [`jobs`] | job payloads as job libraries write them |

pub mod aof;
pub mod binary;
pub mod jobs;
pub mod resp;
pub mod server;

pub use binary::Binary;
pub use resp::{Reply, Resp};
pub use server::{Options, Server};
