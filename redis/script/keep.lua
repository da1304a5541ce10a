-- Removes the owner and ends the lease. ARGV[7] is added to the refunds.
if not fenced then
  return met()
end
settle(expires())
redis.call('HDEL', key, 'owner')
redis.call('HSET', key, 'lease', '0')
redis.call('HINCRBY', key, 'refunds', ARGV[7])
return 1
