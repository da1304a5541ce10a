-- Returns the record. A plain HGETALL could be answered by a replica, or by a cache of
-- the client.
return met(1)
