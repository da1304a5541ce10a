-- Sets a new owner, and returns the whole record. Steps stay. The policy is read as at a
-- claim: after a failover, a record may be on another server than the one that was asked.
if not fenced() then
  return met(0)
end
local eviction = policy()
if eviction and eviction ~= 'noeviction' then
  return {2, {eviction}}
end
begin()
redis.call('HSETNX', key, 'attempt', '1')
redis.call('HINCRBY', key, 'attempt', 1)
redis.call('HSET', key, 'owner', ARGV[2])
fingerprint()
assign(6)
settle()
return met(eviction and 1 or 3)
