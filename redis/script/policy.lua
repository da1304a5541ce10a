-- The beginning of a claim and of a takeover.

-- told returns a section of what the server tells of itself, or '' if it does not.
local function told(section)
  local info = redis.pcall('INFO', section)
  return type(info) == 'string' and info or ''
end

-- permitted ends the script before its first write if the user may not run a command that
-- a later write of the record needs. A call whose completion alone is denied would run again
-- after each lease. Servers before Redis 7 do not tell.
local function permitted()
  for _, command in ipairs(redis.acl_check_cmd and
    {'DEL', 'HDEL', 'HGET', 'HGETALL', 'HINCRBY', 'HKEYS', 'HSET', 'HSETNX', 'PERSIST', 'PEXPIREAT'} or {}) do
    if not redis.acl_check_cmd(command, key) then
      error({err = 'NOPERM a later write of the record needs ' .. command})
    end
  end
end

-- policy returns the eviction policy of the server that stores the record, or nil if the
-- server does not tell. Others may have another one.
--
-- INFO memory takes longer than the rest of a claim, so noeviction holds for ten seconds:
-- policy also returns a note, which comes back as the last of ARGV. The note names the server,
-- as a client may not see a failover behind its connection, and the time of the server,
-- because a client may be frozen. The rights are checked as often.
--
-- A server draws its master_replid when it starts and when it is promoted, so no two
-- primaries have the same. master_replid2 is the one before.
local function policy(now)
  local server, at = string.match(ARGV[#ARGV], '^(.*) (%d+)$')
  local age = server and now - at
  if age and age >= 0 and age < 10 and string.find(told('replication'), server, 1, true) then
    return 'noeviction'
  end
  permitted()
  local eviction = string.match(told('memory'), 'maxmemory_policy:([%w-]+)')
  if eviction ~= 'noeviction' then
    return eviction
  end
  server = string.match(told('replication'), 'master_replid:%x+')
  return eviction, server and server .. ' ' .. now
end
