#!lua flags=allow-oom
-- Writes the heartbeat of the calling process, as claim.lua does.
--
-- KEYS     processes identity
--          the set of all processes, and the hash of this one
-- ARGV     info beat ttl
--          two fields of the hash, and its time to live in seconds
-- Replies  OK
-- Effects  HSET identity info, SADD processes identity  if there is no hash
--          HSET identity beat, EXPIRE identity ttl      always
-- Errors   for an argument, the set or the hash: nothing has been written

if #KEYS ~= 2 or #ARGV ~= 3 then
  return redis.error_reply("ERR wrong number of arguments for 'wurk.beat' command")
end
local processes, identity = KEYS[1], KEYS[2]
local info, beat, ttl = ARGV[1], ARGV[2], ARGV[3]

-- Everything is checked before the first write. Numbers in Lua have 53 bits, the
-- server's have 64: the digits are compared instead.
local sign, digits = ttl:match('^(%-?)([1-9]%d*)$')
if ttl == '0' then sign, digits = '', '0' end
local most = sign == '-' and '9223372036854775808' or '9223372036854775807'
if not digits or #digits > 19 or (#digits == 19 and digits > most) then
  return redis.error_reply('ERR value is not an integer or out of range')
end
-- ttl * 1000 + now must not pass 9223372 036854775 807; the first two groups
-- are compared as one number is, from the left.
local now = redis.call('TIME')
local latest = 36854775 - tonumber(now[1]) - (tonumber(now[2]) >= 808000 and 1 or 0)
local high, low = tonumber(digits:sub(1, -10)) or 0, tonumber(digits:sub(-9))
if sign == '-' or digits == '0' or (high - 9223372) * 1000000000 + low > latest then
  return redis.error_reply("ERR invalid expire time in 'wurk.beat' command")
end

local set, hash = redis.call('TYPE', processes).ok, redis.call('TYPE', identity).ok
local new = hash == 'none'
if (set ~= 'set' and set ~= 'none') or (hash ~= 'hash' and not new)
  or (new and processes == identity) then
  return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
end

if new then
  redis.call('HSET', identity, 'info', info)
  redis.call('SADD', processes, identity)
end
redis.call('HSET', identity, 'beat', beat)
redis.call('EXPIRE', identity, ttl)
return redis.status_reply('OK')
