-- Sets a new owner, and returns the whole record. Steps stay.
if not fenced() then
  return met(0)
end
begin()
redis.call('HSETNX', key, 'attempt', '1')
redis.call('HINCRBY', key, 'attempt', 1)
redis.call('HSET', key, 'owner', ARGV[2])
fingerprint()
assign(6)
settle()
return met(1)
