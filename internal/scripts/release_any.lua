-- release_any gives up what an acquire_any may have taken whose outcome is not known: the lock of each of
-- these members that is held under its id. It wakes one waiter for each.
--
-- KEYS[1]   the pool's signal
-- KEYS[2..] the members' locks
-- ARGV[1]   the owner id
-- ARGV[2]   the signal's TTL in milliseconds
-- ARGV[3..] the members, in the order of the keys: what to push as the signal
--
-- Returns 'released' when it gave any up, else 'not held', as release does. If it gave none up and one of
-- the locks is free it pushes a signal that names no member, as repair does. A lock that is something
-- else, and a signal key of a foreign type, are left alone.
--
-- As in release, the DELs come before all other writes, and before 'not held' something is written that
-- changes nothing, so that a replica answers READONLY.
local call = redis.pcall
local gone, free = {}, false
for i = 2, #KEYS do
  local owner = call('GET', KEYS[i])
  if owner == ARGV[1] then
    local deleted = call('DEL', KEYS[i])
    if type(deleted) == 'table' then return deleted end
    gone[#gone + 1] = ARGV[i + 1]
  elseif not owner then
    free = true
  elseif type(owner) == 'table' and not string.find(owner.err, 'WRONGTYPE', 1, true) then
    return owner
  end
end

local signals, found = call('LLEN', KEYS[1]), #gone > 0 and 'released' or 'not held'
if type(signals) ~= 'number' then return found end
if #gone == 0 then
  local wrote = call('LREM', KEYS[1], 0, '')
  if type(wrote) == 'table' then return wrote end
  if free and signals == 0 then gone[1] = '1' end
end
for i = 1, #gone do
  if signals + i <= 16 then call('LPUSH', KEYS[1], gone[i]) end
end
if #gone > 0 then call('PEXPIRE', KEYS[1], ARGV[2]) end
return found
