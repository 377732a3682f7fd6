#!lua flags=allow-oom
-- Takes a lock that lapses by itself.
--
-- KEYS     key
-- ARGV     ttl, in milliseconds
-- Replies  OK, or nil while somebody holds it
-- Effects  SET key 1 NX PX ttl
-- Errors   what SET says of a ttl: nothing has been written

if #KEYS ~= 1 or #ARGV ~= 1 then
  return redis.error_reply("ERR wrong number of arguments for 'wurk.lock' command")
end
return redis.pcall('SET', KEYS[1], 1, 'NX', 'PX', ARGV[1])
