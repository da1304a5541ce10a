-- Completes or fails the record, also one that nobody owns. Steps and lease go.
if not fenced() then
  return met(0)
end
begin()
for _, field in ipairs(redis.call('HKEYS', key)) do
  if string.sub(field, 1, 5) == 'step:' then
    redis.call('HDEL', key, field)
  end
end
redis.call('HDEL', key, 'lease', 'data', 'payload', 'unavailable')
if ARGV[2] ~= '' then
  redis.call('HSET', key, 'owner', ARGV[2])
end
fingerprint()
assign(6)
settle()
return {1, {}}
