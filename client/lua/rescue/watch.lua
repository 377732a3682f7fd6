-- What WATCH would notice of keys, for a client whose transaction may be refused:
-- commands.lua compares it. Only reads, so a full server runs it as it is.
--
-- KEYS     the keys
-- Replies  for each 40 characters that change with its value or its time to live;
--          before 7.0 with its value alone

local fingerprints = {}
for i, key in ipairs(KEYS) do
  local value = redis.call('DUMP', key) or ''
  local time = redis.pcall('PEXPIRETIME', key)
  if type(time) == 'table' then time = '' end
  fingerprints[i] = redis.sha1hex(time .. ':' .. value)
end
return fingerprints
