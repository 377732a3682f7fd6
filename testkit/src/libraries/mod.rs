//! Real queue libraries on a full server: their own producers and workers, which are in
//! `tests/libraries` and know nothing of wurk.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`table`] | the libraries, and how their producers and workers are started |
//! | [`programs`] | running them, as process groups that end with their owner |
//! | [`folder`] | the files that jobs write to |
//! | [`stage`] | a server with a user for producers and one for workers |
//! | [`memory`] | making a server full, and keeping it so |
//! | [`account`] | where each job is |

pub mod account;
pub mod folder;
pub mod memory;
pub mod programs;
pub mod stage;
pub mod table;

pub use account::Account;
pub use stage::Stage;
pub use table::{Alone, LIBRARIES, Library};
