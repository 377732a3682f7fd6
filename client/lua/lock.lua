#!lua flags=allow-oom
-- Acquires a lock that expires. It has no owner: DEL key releases it.
--
-- KEYS     key
-- ARGV     ttl, in milliseconds
-- Replies  OK, or nil while it is held
-- Effects  SET key 1 NX PX ttl
-- Errors   those of SET for a ttl: nothing has been written

if #KEYS ~= 1 or #ARGV ~= 1 then
  return redis.error_reply("ERR wrong number of arguments for 'wurk.lock' command")
end
return redis.pcall('SET', KEYS[1], 1, 'NX', 'PX', ARGV[1])
