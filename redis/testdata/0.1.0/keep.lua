-- Removes the owner and ends the lease. ARGV[6] is added to the refunds.
if not fenced() then
  return met(0)
end
begin()
redis.call('HDEL', key, 'owner')
redis.call('HSET', key, 'lease', '0')
redis.call('HINCRBY', key, 'refunds', ARGV[6])
settle()
return {1, {}}
