-- The beginning of every script. A script makes one write under one condition. KEYS[1]
-- is the key of a record, a hash. A value that is absent has no field.
local key = KEYS[1]

-- Milliseconds that a key outlives its record. A caller counts a record for another clock
-- skew, an hour at most, by its own clock, and the server's may be ahead by as much.
local linger = 10800000

-- same compares a stored value. '' stands for absent.
local function same(field, want)
  return (redis.call('HGET', key, field) or '') == want
end

-- fenced is the condition of every change: in progress under the owner ARGV[1]. Under a
-- new owner, ARGV[2], the attempt ARGV[3] and the lease ARGV[4] are compared, too.
local function fenced()
  return same('status', 'INPROGRESS') and same('owner', ARGV[1])
    and (ARGV[2] == '' or same('attempt', ARGV[3]) and same('lease', ARGV[4]))
end

-- policy returns the eviction policy of the server that stores the record, or nil if the
-- server does not tell. Others may have another one.
local function policy()
  local info = redis.pcall('INFO', 'memory')
  return type(info) == 'string' and string.match(info, 'maxmemory_policy:([%w-]+)') or nil
end

-- begin is the first write of a change. Redis refuses a script's first write if that
-- needs memory and none is left, and then none of the others. With the memory full,
-- claims are refused, and what is running can still be recorded.
local function begin()
  redis.call('PERSIST', key)
end

-- assign writes the fields and values that begin at ARGV[first].
local function assign(first)
  for n = first, #ARGV, 2 do
    redis.call('HSET', key, ARGV[n], ARGV[n + 1])
  end
end

-- fingerprint writes ARGV[5] where none is stored.
local function fingerprint()
  if ARGV[5] ~= '' then
    redis.call('HSETNX', key, 'fingerprint', ARGV[5])
  end
end

-- settle sets the time at which the server deletes the key. It is never near: a caller
-- whose clock is far behind must not see its own claim vanish.
local function settle()
  local stored = redis.call('HMGET', key, 'expires', 'lease')
  if not stored[1] then
    redis.call('PERSIST', key)
    return
  end
  local last = math.max(redis.call('TIME')[1] * 1000, stored[1] * 1000, stored[2] or 0)
  redis.call('PEXPIREAT', key, string.format('%.0f', last + linger))
end

-- met returns the record as stored. The first write changes nothing: a replica refuses
-- it, and so does a primary that has lost too many replicas. Either may have an old record.
-- If answers wait for replicas, a value is written once more: since Redis 7.2, WAIT waits
-- for the writes of its own connection only.
local function met(code)
  redis.call('HDEL', key, '')
  if replicated and redis.call('EXISTS', key) == 1 then
    begin()
    redis.call('HSET', key, 'status', redis.call('HGET', key, 'status') or '')
    settle()
  end
  return {code, redis.call('HGETALL', key)}
end
