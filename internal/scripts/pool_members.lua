-- pool_members tells which members a pool has, in their order.
--
-- KEYS[1]  the pool, a sorted set
--
-- Returns the members. WRONGTYPE if the pool is something else.
return redis.pcall('ZRANGE', KEYS[1], 0, -1)
