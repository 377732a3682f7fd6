//! The one module that calls the server's API, and the only `unsafe`.
//!
//! Above it there are no pointers: a command reads its arguments ([`Arg`]), reads
//! and writes keys through [`Ctx`], and returns a [`Result`]. Every wrapper is a
//! few lines long and says why it is sound.
//!
//! The server calls the module from one thread, and nothing here outlives such a
//! call unless its documentation says so.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `api` | the API functions that the module needs |
//! | `arg`, `shared_strings` | strings: of a client, owned, made once |
//! | `call`, `call_reply` | commands of the server, called from inside it |
//! | `key`, `keyspace` | open keys, and what a command does besides its write |
//! | `hash`, `list`, `sorted_set` | reads and writes of their values |
//! | `reply`, `error` | what a command returns |
//! | `command`, `command_info` | how a command is registered and called |
//! | `blocking` | clients that wait |
//! | `ctx`, `events`, `info`, `log` | the context of a call, the server's events, `INFO` and log |
//! | `arguments`, `config`, `limits`, `memory`, `stats` | what an operator sets and sees |
//! | `users`, `clients`, `filter`, `refusable`, `names`, `command_list`, `inner_keys`, `key_flags` | rescued users, and what is rescued for them |
//! | `load`, `options`, `unload`, `cron` | loading, why there is no unloading, the cron loop |
//!
//! Each imports only from modules that do not import from it.
#![allow(unsafe_code)]

mod api;
mod arg;
mod arguments;
mod blocking;
mod call;
mod call_reply;
mod clients;
mod command;
mod command_info;
mod command_list;
mod config;
mod cron;
mod ctx;
mod error;
mod events;
mod filter;
mod hash;
mod info;
mod inner_keys;
mod key;
mod key_flags;
mod keyspace;
mod limits;
mod list;
mod load;
mod log;
mod memory;
mod names;
mod options;
mod refusable;
mod reply;
pub(crate) mod shared_strings;
mod sorted_set;
pub(crate) mod stats;
mod unload;
mod users;

pub(crate) use arg::{Arg, Number};
pub(crate) use blocking::BlockingCommand;
pub(crate) use call_reply::CallReply;
pub(crate) use command::{Command, Registration, register};
pub(crate) use command_info::{Argument, CommandInfo, KeyFlags, KeySpec};
pub(crate) use ctx::Ctx;
pub(crate) use error::{Error, Result};
pub(crate) use key::{Key, KeyType};
pub(crate) use limits::Fullness;
pub(crate) use load::{VERSION, load};
pub(crate) use refusable::{Refusable, Refused};
pub(crate) use reply::{Job, Reply};
pub(crate) use unload::refuse_to_unload;
