#!lua flags=allow-oom,allow-cross-slot-keys
-- Runs commands of any kind one after another, on a server that is full: what a
-- client sends in place of commands that were refused for memory.
--
-- KEYS     the commands' keys, by which a cluster finds the slot
-- ARGV     how protocol watched [key fingerprint ...] [words word ...] ...
--          how        "each": every command by itself, as in a pipeline;
--                     "all": all or none, as in a transaction
--          protocol   of the connection, 2 or 3
--          watched    how many keys must be as they were; each with what
--                     watch.lua said of it
--          words      how many words the next command has, its name included.
--                     EVALSHA stands as EVAL with its text
-- Replies  an array of the commands' replies, errors included, in the types of
--          the protocol; nil if a watched key has changed: nothing was run
-- Errors   OOM before 7.0 with INCRBYFLOAT: nothing has been run
--          "all": OOM if a command was refused all the same, by a limit of the
--          server's. That is before the first write: nothing has been written
--
-- Numbers in Lua have 53 bits: an integer above that is rounded in the reply.

local how, protocol, watched = ARGV[1], ARGV[2], tonumber(ARGV[3])
local load = loadstring or load

-- Commands whose reply has another type in protocol 3. In others it may hold nil,
-- which ends an array in Lua there, and is false in protocol 2.
local types = {}
for name in ([[HGETALL HRANDFIELD SMEMBERS SINTER SUNION SDIFF SPOP ZADD ZINCRBY
  ZSCORE ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZPOPMIN ZPOPMAX ZMPOP
  BZPOPMIN BZPOPMAX BZMPOP ZRANDMEMBER ZUNION ZINTER ZDIFF ZRANK ZREVRANK
  GEORADIUS GEORADIUSBYMEMBER GEOSEARCH LCS INFO XINFO CONFIG CLIENT MEMORY
  OBJECT FUNCTION COMMAND ACL LATENCY MODULE PUBSUB CLUSTER]]):gmatch('%u+') do
  types[name] = true
end

-- Replies that hold nil, and numbers where protocol 2 has text.
local function doubles(reply)
  if type(reply) == 'string' then return {double = tonumber(reply)} end
  if type(reply) == 'table' and not reply.err then
    for i = 1, #reply do reply[i] = doubles(reply[i]) end
  end
  return reply
end

local function map(reply)
  if type(reply) ~= 'table' or reply.err then return reply end
  local pairs = {}
  for _, pair in ipairs(reply) do pairs[pair[1]] = pair[2] end
  return {map = pairs}
end

local convert = {ZMSCORE = doubles, GEOPOS = doubles, XREAD = map, XREADGROUP = map}

-- A script cannot call one: its text becomes a function of this one.
local function eval(words)
  local count = tonumber(words[3])
  if not count or count < 0 or count > #words - 3 then
    return redis.error_reply("ERR Number of keys can't be greater than number of args")
  end
  local keys, others = {}, {}
  for i = 4, #words do
    local list = i < 4 + count and keys or others
    list[#list + 1] = words[i]
  end
  local text = words[2]:gsub('^#![^\n]*', '')
  local script, why = load('local KEYS, ARGV = ... ' .. text, '@user_script')
  if not script then return redis.error_reply('ERR Error compiling script (new function): ' .. why) end
  local done, reply = pcall(script, keys, others)
  if done or type(reply) == 'table' then return reply end
  reply = tostring(reply) -- of an error of redis.call with its code, of Lua's without
  return {err = reply:find('^%u+ ') and reply or 'ERR ' .. reply}
end

-- Up to 7.0 a script may not call these two, and nowhere do they wait in one.
local moves = {BLMOVE = 'LMOVE', BRPOPLPUSH = 'RPOPLPUSH'}

local function run(words)
  local name = words[1]:upper()
  if name == 'EVAL' then return eval(words) end
  if moves[name] then words[1], words[#words] = moves[name], nil end
  local changed = protocol == '3' and types[name]
  if changed then redis.setresp(3) end
  local reply = redis.pcall(unpack(words))
  if changed then redis.setresp(2) end
  if protocol == '3' and convert[name] then return convert[name](reply) end
  return reply
end

for i = 4, 3 + 2 * watched, 2 do
  local value = redis.pcall('DUMP', ARGV[i]) or ''
  local time = redis.pcall('PEXPIRETIME', ARGV[i])
  if type(value) == 'table' then return value end
  if type(time) == 'table' then time = '' end
  if redis.sha1hex(time .. ':' .. value) ~= ARGV[i + 1] then return nil end
end

-- What a script's own words for an error are to a client.
local function in_the_servers_words(text, words)
  -- Before 7.0 some come with the line that they were met at.
  text = text:gsub('^@user_script: %d+: %-?', '')
  if text:find('^%u* ?Wrong number of args calling ') then
    return "ERR wrong number of arguments for '" .. words[1]:lower() .. "' command"
  end
  if text:find('^%u* ?Unknown .*command called from ') then
    return "ERR unknown command '" .. words[1]:sub(1, 128) .. "'"
  end
  return text
end

local commands, at = {}, 4 + 2 * watched
while at <= #ARGV do
  local words = {}
  for i = at + 1, at + tonumber(ARGV[at]) do words[#words + 1] = ARGV[i] end
  at = at + #words + 1
  commands[#commands + 1] = words
  -- Inside a script it corrupts the memory of such a server, which ends it.
  if words[1]:upper() == 'INCRBYFLOAT' and not redis.acl_check_cmd then
    return redis.error_reply("OOM command not allowed when used memory > 'maxmemory'.")
  end
end

local replies = {}
for i, words in ipairs(commands) do
  local reply = run(words)
  if type(reply) == 'table' and reply.err then
    local text = in_the_servers_words(reply.err, words)
    reply = {err = text}
    if how == 'all' and text:find('^OOM ') then return reply end
  end
  if reply == nil then reply = false end
  replies[i] = reply
end
return replies
