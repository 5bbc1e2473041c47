-- pool_change adds members to a pool, behind those that it has, and takes others out.
--
-- KEYS[1]  the pool, a sorted set
-- ARGV[1]  'extend' or 'shrink'
-- ARGV[..] the members
--
-- Returns how many were added or taken out. WRONGTYPE if the pool is something else.
local call = redis.pcall
local last = call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if last.err then return last end
local order, changed = tonumber(last[2] or 0), 0
for i = 2, #ARGV do
  local n
  if ARGV[1] == 'extend' then
    order = order + 1
    n = call('ZADD', KEYS[1], 'NX', string.format('%.0f', order), ARGV[i])
  else
    n = call('ZREM', KEYS[1], ARGV[i])
  end
  if type(n) == 'table' then return n end
  changed = changed + n
end
return changed
