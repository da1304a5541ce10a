-- Writes the fields and values that begin at ARGV[3], if there is no record, or one that
-- expired before the cutoff: ARGV[1] in seconds, ARGV[2] in milliseconds, '' for none.
local exists = redis.call('EXISTS', key) == 1
if exists then
  local stored = redis.call('HMGET', key, 'status', 'expires', 'lease')
  local expired = ARGV[1] ~= '' and stored[2] and tonumber(stored[2]) < tonumber(ARGV[1])
    and (stored[1] ~= 'INPROGRESS' or not stored[3] or tonumber(stored[3]) < tonumber(ARGV[2]))
  if not expired then
    return met(0)
  end
end

local eviction = policy()
if eviction and eviction ~= 'noeviction' then
  return {2, {eviction}}
end

if exists then
  redis.call('DEL', key)
end
redis.call('HSET', key, unpack(ARGV, 3))
settle()
return {eviction and 1 or 3, {}}
