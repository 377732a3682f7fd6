//! What the module declares to the server about itself.
//!
//! A server switches features off for all its users when a module has not said
//! that it can live with them, so every option of every supported server is
//! named here, set or not.

use std::ffi::c_int;

use redis_module::raw::{self, RedisModuleCtx};

use super::api::api;
use super::info;

/// Opening a key for writing does not mark it as modified: most are opened to be
/// looked at, and a write signals by itself. 6.0 and later.
const NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 1 << 1;

/// A replica with the module may load from its primary while it serves reads
/// from its old data (`repl-diskless-load swapdb`). The module keeps no data
/// beside the keyspace, so it does not notice. 7.0 and later.
const HANDLE_REPL_ASYNC_LOAD: c_int = 1 << 2;

/// `RM_Replicate` does not look each command up by name: `load` has found them
/// all, and none can be renamed while the server runs. Valkey 8.1 and later.
const SKIP_COMMAND_VALIDATION: c_int = 1 << 4;

/// `CLUSTER MIGRATESLOTS` may move slots of a node with the module: all that a
/// command does is in the keyspace and in the replication stream, and every key
/// of a command is in one slot. Valkey 9.0 and later.
const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// For any server; one that is too old for an option ignores its bit.
const EVERYWHERE: c_int = NO_IMPLICIT_SIGNAL_MODIFIED | HANDLE_REPL_ASYNC_LOAD;

/// For Valkey. On Redis these bits have no meaning yet, or will have another.
const VALKEY: c_int = SKIP_COMMAND_VALIDATION | HANDLE_ATOMIC_SLOT_MIGRATION;

// Not set, on purpose:
//
// - `HANDLE_IO_ERRORS` (`1 << 0`) is about reading a module's own data types
//   from an RDB: the module has none.
// - `ALLOW_NESTED_KEYSPACE_NOTIFICATIONS` (`1 << 3`) is about events that a
//   module causes while it is told of one: it subscribes to none.
//
// Beside the options a server asks for defragmentation callbacks (a line in the
// log of Redis 8 where there are none), which are for data types too; and
// cluster flags, which are for modules that redirect clients by themselves.

/// Declares them, before any command is registered.
pub(super) fn declare(ctx: *mut RedisModuleCtx) {
    // SAFETY: the pointer is written once, before `load` runs; it is null on a
    // server that cannot say which options it knows.
    let known = unsafe { raw::RedisModule_GetModuleOptionsAll.map_or(0, |all| all()) };
    let options = if info::is_valkey(ctx) {
        EVERYWHERE | VALKEY & known
    } else {
        EVERYWHERE
    };
    // SAFETY: the function is there, and the context is the module's own.
    unsafe { api!(RedisModule_SetModuleOptions(ctx, options)) };
}
