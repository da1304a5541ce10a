-- Writes the fields and values that begin at ARGV[5], if there is no record, or one that
-- expired before the cutoff: ARGV[1] in seconds, ARGV[2] in milliseconds, '' for none. The
-- new record expires at ARGV[3], and its lease ends at ARGV[4].
local stored = redis.call('HGETALL', key)
local exists = #stored > 0
if exists then
  local old = {}
  for n = 1, ARGV[1] ~= '' and #stored or 0, 2 do
    old[stored[n]] = stored[n + 1]
  end
  local expired = old.expires and tonumber(old.expires) < tonumber(ARGV[1])
    and (old.status ~= 'INPROGRESS' or not old.lease or tonumber(old.lease) < tonumber(ARGV[2]))
  if not expired then
    return met(stored)
  end
end

local now = redis.call('TIME')[1]
local eviction, note = policy(now)
if eviction and eviction ~= 'noeviction' then
  return {2, {eviction}}
end

if exists then
  redis.call('DEL', key)
end
assign(5, #ARGV - 1)
settle(ARGV[3] ~= '' and ARGV[3], ARGV[4] ~= '' and ARGV[4], now)
return note or eviction and 1 or 3
