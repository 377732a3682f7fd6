//! The functions of the server that the module needs.
//!
//! The server fills in a pointer for each function that it has; calling one
//! that it lacks would bring it down. So every name that [`api!`] can reach
//! stands in the one list below, and `load` refuses to go on where [`missing`]
//! names any.

use redis_module::raw;

macro_rules! needed {
    ($($name:ident)*) => {
        /// The needed functions, as [`api!`] finds them.
        pub(super) mod functions {
            $(pub(in crate::server) use redis_module::raw::$name;)*
        }

        /// The needed functions that this server lacks.
        pub(super) fn missing() -> impl Iterator<Item = &'static str> {
            // SAFETY: the pointers are written once, before `load` runs.
            let found = unsafe { [$((stringify!($name), { raw::$name }.is_some())),*] };
            found.into_iter().filter(|(_, there)| !there).map(|(name, _)| name)
        }
    };
}

needed! {
    RedisModule_ACLCheckCommandPermissions
    RedisModule_BlockClientOnKeys
    RedisModule_Call
    RedisModule_CallReplyArrayElement
    RedisModule_CallReplyInteger
    RedisModule_CallReplyLength
    RedisModule_CallReplyStringPtr
    RedisModule_CallReplyType
    RedisModule_CloseKey
    RedisModule_CommandFilterArgGet
    RedisModule_CommandFilterArgInsert
    RedisModule_CommandFilterArgsCount
    RedisModule_CreateCommand
    RedisModule_CreateString
    RedisModule_FreeCallReply
    RedisModule_FreeModuleUser
    RedisModule_FreeServerInfo
    RedisModule_FreeString
    RedisModule_GetBlockedClientReadyKey
    RedisModule_GetCommand
    RedisModule_GetCommandKeysWithFlags
    RedisModule_GetContextFlags
    RedisModule_GetCurrentUserName
    RedisModule_GetDetachedThreadSafeContext
    RedisModule_GetModuleUserFromUserName
    RedisModule_GetServerInfo
    RedisModule_GetUsedMemoryRatio
    RedisModule_HashGet
    RedisModule_HashSet
    RedisModule_InfoAddFieldULongLong
    RedisModule_InfoAddSection
    RedisModule_IsKeysPositionRequest
    RedisModule_KeyAtPosWithFlags
    RedisModule_KeyType
    RedisModule_ListDelete
    RedisModule_ListGet
    RedisModule_ListPop
    RedisModule_ListPush
    RedisModule_LoadConfigs
    RedisModule_Milliseconds
    RedisModule_NotifyKeyspaceEvent
    RedisModule_OpenKey
    RedisModule_RegisterCommandFilter
    RedisModule_RegisterInfoFunc
    RedisModule_RegisterNumericConfig
    RedisModule_RegisterStringConfig
    RedisModule_Replicate
    RedisModule_ReplyWithArray
    RedisModule_ReplyWithCallReply
    RedisModule_ReplyWithError
    RedisModule_ReplyWithLongLong
    RedisModule_ReplyWithNull
    RedisModule_ReplyWithNullArray
    RedisModule_ReplyWithSimpleString
    RedisModule_ReplyWithString
    RedisModule_ServerInfoGetFieldC
    RedisModule_SetAbsExpire
    RedisModule_SetCommandInfo
    RedisModule_SetModuleOptions
    RedisModule_SignalModifiedKey
    RedisModule_StringPtrLen
    RedisModule_StringToDouble
    RedisModule_StringToLongLong
    RedisModule_SubscribeToServerEvent
    RedisModule_UnregisterCommandFilter
    RedisModule_WrongArity
    RedisModule_ZsetAdd
    RedisModule_ZsetRem
    RedisModule_ZsetScore
}

/// Calls a needed function of the server, e.g. `api!(RedisModule_CloseKey(key))`.
macro_rules! api {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // Every name in `functions` is one that `load` has found to be there.
        ($crate::server::api::functions::$name.unwrap_unchecked())($($argument),*)
    };
}
pub(super) use api;
