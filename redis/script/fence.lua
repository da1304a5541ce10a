-- The beginning of every change. Its arguments are those of Go's fence, and the fields and
-- values that it writes.

-- same compares a stored value. '' stands for absent.
local function same(field, want)
  return (redis.call('HGET', key, field) or '') == want
end

-- fenced is the condition of every change: in progress under the owner ARGV[1]. Under a
-- new owner, ARGV[2], the attempt ARGV[3] and the lease ARGV[4] are compared, too.
local fenced = same('status', 'INPROGRESS') and same('owner', ARGV[1])
  and (ARGV[2] == '' or same('attempt', ARGV[3]) and same('lease', ARGV[4]))

-- expires returns when the record does after the change: ARGV[6], or as stored.
local function expires()
  return ARGV[6] ~= '' and ARGV[6] or redis.call('HGET', key, 'expires')
end

-- fingerprint writes ARGV[5] where none is stored.
local function fingerprint()
  if ARGV[5] ~= '' then
    redis.call('HSETNX', key, 'fingerprint', ARGV[5])
  end
end
