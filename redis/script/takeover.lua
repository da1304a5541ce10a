-- Sets a new owner, and returns the whole record. Steps stay. The policy is read as at a
-- claim: after a failover, a record may be on another server than the one that was asked.
if not fenced then
  return met()
end
local now = redis.call('TIME')[1]
local eviction, note = policy(now)
if eviction and eviction ~= 'noeviction' then
  return {2, {eviction}}
end
settle(expires(), ARGV[8], now)
redis.call('HSETNX', key, 'attempt', '1')
redis.call('HINCRBY', key, 'attempt', 1)
fingerprint()
assign(7, #ARGV - 1)
return {eviction and 1 or 3, redis.call('HGETALL', key), note}
