#!lua flags=allow-oom
-- Adds a member to a sorted set, or updates its score.
--
-- KEYS     key
-- ARGV     score member
-- Replies  1 if added, 0 if only the score was updated
-- Effects  ZADD key score member
-- Errors   those of ZADD: nothing has been written

if #KEYS ~= 1 or #ARGV ~= 2 then
  return redis.error_reply("ERR wrong number of arguments for 'wurk.zadd' command")
end
return redis.pcall('ZADD', KEYS[1], ARGV[1], ARGV[2])
