-- Exports `INFO wurk` by Prometheus' redis_exporter, which does not export module
-- sections by itself: redis_exporter --script redis_exporter.lua. Each number becomes
-- redis_script_values{key="wurk_..."}; without the module there are none.
local values = {}
for field, value in string.gmatch(redis.call('INFO', 'wurk'), '(wurk_[%w_]+):(%d+)') do
  values[#values + 1] = field
  values[#values + 1] = value
end
return values
