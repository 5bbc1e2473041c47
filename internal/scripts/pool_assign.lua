-- pool_assign says which members a pool has, in which order.
--
-- KEYS[1]  the pool, a sorted set
-- ARGV[..] the members, in the order in which they are preferred
--
-- Returns {added, removed}: how many of them are new, and how many were there that are not among them.
-- WRONGTYPE if the pool is something else. The new ones are put in before the old ones are taken out:
-- an error in between leaves too many, never too few.
local call = redis.pcall
local old = call('ZRANGE', KEYS[1], 0, -1)
if old.err then return old end
local wanted, added, removed = {}, 0, 0
for i = 1, #ARGV do
  if not wanted[ARGV[i]] then
    wanted[ARGV[i]] = true
    local n = call('ZADD', KEYS[1], i, ARGV[i])
    if type(n) == 'table' then return n end
    added = added + n
  end
end
for _, member in ipairs(old) do
  if not wanted[member] then
    local n = call('ZREM', KEYS[1], member)
    if type(n) == 'table' then return n end
    removed = removed + n
  end
end
return {added, removed}
