#!lua flags=allow-oom
-- Moves a job from a sorted set to the end of its public list that is claimed last.
--
-- KEYS     scheduled public
--          the sorted set that the job waits in, and its queue
-- ARGV     job [payload]
--          the member, and what stands for it in the queue
-- Replies  1, or 0 if the job is no longer in the set
-- Effects  LPUSH public payload, then ZREM scheduled job: the job is in the list
--          before it leaves the set
-- Errors   WRONGTYPE if the keys are not a sorted set and a list: nothing has been
--          written

if #KEYS ~= 2 or #ARGV < 1 or #ARGV > 2 then
  return redis.error_reply("ERR wrong number of arguments for 'wurk.promote' command")
end
local scheduled, public, job, payload = KEYS[1], KEYS[2], ARGV[1], ARGV[2] or ARGV[1]

local list = redis.call('TYPE', public).ok
if list ~= 'list' and list ~= 'none' then
  return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
end
local score = redis.pcall('ZSCORE', scheduled, job)
if type(score) == 'table' then return score end -- an error
if not score then return 0 end

redis.call('LPUSH', public, payload)
redis.call('ZREM', scheduled, job)
return 1
