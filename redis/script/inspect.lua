-- Returns the record, and the server's time.
redis.call('HDEL', key, '')
return {1, {redis.call('TIME'), redis.call('HGETALL', key)}}
