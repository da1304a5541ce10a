-- The beginning of every script. A script makes one write under one condition. KEYS[1]
-- is the key of a record, a hash. A value that is absent has no field. Lists cost most:
-- two or three HGET take less time than HMGET, and a number is the shortest answer.
local key = KEYS[1]

-- assign writes the fields and values from ARGV[first] to ARGV[last], in parts that fit
-- into Lua's stack.
local function assign(first, last)
  for n = first, last, 1000 do
    redis.call('HSET', key, unpack(ARGV, n, math.min(n + 999, last)))
  end
end

-- settle sets the time at which the server deletes the key of a record that expires, in
-- seconds, and whose lease ends, in milliseconds. It is never near: a caller whose clock is
-- far behind must not see its own claim vanish. The key outlives its record by three hours.
-- A caller counts a record for another clock skew, an hour at most, by its own clock, and
-- the server's may be ahead by as much.
--
-- It is the first write of a change. Redis refuses a script's first write if that needs
-- memory and none is left, and then none of the others. With the memory full, claims are
-- refused, and what is running can still be recorded.
local function settle(expires, lease, now)
  if expires then
    local last = math.max((now or redis.call('TIME')[1]) * 1000, expires * 1000, lease or 0)
    redis.call('PEXPIREAT', key, last + 10800000)
  else
    redis.call('PERSIST', key)
  end
end

-- met returns the record as stored. The first write changes nothing: a replica refuses
-- it, and so does a primary that has lost too many replicas. Either may have an old record.
-- If answers wait for replicas, a value is written once more: since Redis 7.2, WAIT waits
-- for the writes of its own connection only.
local function met(stored)
  redis.call('HDEL', key, '')
  local status = replicated and redis.call('HGET', key, 'status')
  if status then
    redis.call('HSET', key, 'status', status)
  end
  return stored or redis.call('HGETALL', key)
end
