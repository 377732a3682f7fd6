-- Exports the numbers of `INFO wurk`, which redis_exporter does not do by itself:
-- redis_exporter --script redis_exporter.lua. Each becomes
-- redis_script_values{key="wurk_..."}; without the module there are none.
local values = {}
for field, value in string.gmatch(redis.call('INFO', 'wurk'), '(wurk_[%w_]+):(%d+)') do
  values[#values + 1] = field
  values[#values + 1] = value
end
return values
