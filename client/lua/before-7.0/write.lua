-- Replaces the first line of a script on servers before 7.0: a write that a full
-- server permits and that changes nothing, whatever type the key has. After its
-- first write such a server does not check a script for memory again.
--
-- If the server refuses this write (READONLY, MISCONF, NOREPLICAS), its error is
-- the script's reply. Effects are replicated instead of the script, because the
-- scripts read the clock; older servers need the call for that.
if redis.replicate_commands then redis.replicate_commands() end
local refused = redis.pcall('ZREMRANGEBYRANK', KEYS[1], 1, 0)
if type(refused) == 'table' and not refused.err:find('WRONGTYPE ', 1, true) then return refused end
