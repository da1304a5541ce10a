-- Replaces a hash that is stored exactly as the ARGV[1] fields and values that follow. Those
-- after them are the new ones; without any, the key is deleted.
local count = tonumber(ARGV[1])
local stored = redis.call('HGETALL', key)
local same = #stored == 2 * count
local want = {}
for n = 2, 2 * count, 2 do
  want[ARGV[n]] = ARGV[n + 1]
end
for n = 1, #stored, 2 do
  same = same and want[stored[n]] == stored[n + 1]
end
if not same then
  return met()
end
redis.call('DEL', key)
if #ARGV > 2 * count + 1 then
  assign(2 * count + 2, #ARGV)
  settle(redis.call('HGET', key, 'expires'), redis.call('HGET', key, 'lease'))
end
return {1, met()}
