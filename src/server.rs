//! The one place that touches the server's API, and the only `unsafe`.
//!
//! Above this room there are no pointers: a command sees its arguments
//! ([`Arg`]), asks and tells the server things through [`Ctx`], and returns an
//! [`Outcome`]. Every wrapper here is a few lines long and says why it is sound.
//!
//! All of it runs in the server's one command thread: the server calls the
//! module, never the other way round, and nothing here outlives the call unless
//! it says so.
#![allow(unsafe_code)]

mod api;
mod arg;
mod call;
mod command;
mod config;
mod ctx;
mod key;
mod load;
mod memory;
mod options;
mod outcome;
pub(crate) mod stats;
mod unload;
mod wait;
pub(crate) mod words;

pub(crate) use arg::{Arg, Number};
pub(crate) use command::{About, Access, Argument, Command, Keys, Registration, command};
pub(crate) use ctx::Ctx;
pub(crate) use key::{Key, Kind};
pub(crate) use load::{VERSION, load};
pub(crate) use outcome::{Answer, Job, Outcome, Refusal};
pub(crate) use unload::refuse_to_unload;
pub(crate) use wait::Waits;
