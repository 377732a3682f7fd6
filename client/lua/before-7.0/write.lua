-- In place of the first line of a script, on servers before 7.0: a write that a
-- full server permits and that changes nothing, whatever type the key has. From
-- the first write on such a server lets a script go on.
--
-- What the server refuses this write with (READONLY, MISCONF, NOREPLICAS) it
-- would refuse the script with. Effects are replicated instead of the script,
-- which a server may still have to be told: the scripts read the clock.
if redis.replicate_commands then redis.replicate_commands() end
local refused = redis.pcall('ZREMRANGEBYRANK', KEYS[1], 1, 0)
if type(refused) == 'table' and not refused.err:find('WRONGTYPE ', 1, true) then return refused end
