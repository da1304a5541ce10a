-- Prolongs the lease to ARGV[7], and never shortens it.
local lease = fenced() and redis.call('HGET', key, 'lease')
if not lease or tonumber(lease) >= tonumber(ARGV[7]) then
  return met(0)
end
begin()
assign(6)
settle()
return {1, {}}
