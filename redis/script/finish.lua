-- Completes or fails the record, also one that nobody owns. Steps, request and lease go.
if not fenced then
  return met()
end
settle(expires())
local fields = redis.call('HKEYS', key)
if string.find(table.concat(fields, ' '), 'step:', 1, true) then
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 5) == 'step:' then
      redis.call('HDEL', key, field)
    end
  end
end
redis.call('HDEL', key, 'lease', 'request', 'data', 'payload', 'unavailable')
fingerprint()
assign(7, #ARGV)
return 1
