-- Prolongs the lease to ARGV[8], and never shortens it.
local lease = fenced and redis.call('HGET', key, 'lease')
if not lease or tonumber(lease) >= tonumber(ARGV[8]) then
  return met()
end
settle(expires(), ARGV[8])
assign(7, #ARGV)
return 1
