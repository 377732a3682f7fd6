#!lua flags=allow-oom
-- Moves a job from a private list back to the end of its public list that is
-- claimed next.
--
-- KEYS     private public
-- ARGV     job
-- Replies  1, or 0 if the job is no longer in the private list
-- Effects  RPUSH public job, then LREM private 1 job: the job is in one list
--          before it leaves the other
-- Errors   WRONGTYPE if either key is not a list: nothing has been written

if #KEYS ~= 2 or #ARGV ~= 1 then
  return redis.error_reply("ERR wrong number of arguments for 'wurk.requeue' command")
end
local private, public, job = KEYS[1], KEYS[2], ARGV[1]

local list = redis.call('TYPE', public).ok
if list ~= 'list' and list ~= 'none' then
  return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
end
local at = redis.pcall('LPOS', private, job)
if type(at) == 'table' then return at end -- an error
if not at then return 0 end

redis.call('RPUSH', public, job)
redis.call('LREM', private, 1, job)
return 1
