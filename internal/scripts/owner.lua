-- owner tells who holds the lock, and for how long.
--
-- KEYS[1]  the lock
--
-- Returns {owner, pttl}, of the owner at most the first 1025 bytes, or {} when nobody holds it.
-- WRONGTYPE if the lock is something else.
local owner = redis.pcall('GET', KEYS[1])
if type(owner) == 'table' then return owner end
if not owner then return {} end
local pttl = redis.pcall('PTTL', KEYS[1])
if type(pttl) == 'table' then return pttl end
return {string.sub(owner, 1, 1025), pttl}
