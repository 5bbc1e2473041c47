-- release gives the lock up if it is still held under this id, and wakes one waiter.
--
-- KEYS[1]  the lock
-- KEYS[2]  the signal
-- ARGV[1]  the owner id
-- ARGV[2]  the signal's TTL in milliseconds
--
-- Returns 1 when it was released, 0 when somebody else or nobody holds it. WRONGTYPE if the lock
-- is something else; a signal key of a foreign type is left alone.
--
-- The lock's DEL comes before the push, so that a Redis out of memory cannot keep a lock held, and
-- errors of the signal are swallowed after it: the waiters' own look heals them. Before 0, a write
-- that changes nothing makes a replica answer READONLY instead of what it last heard.
local call = redis.pcall
local owner = call('GET', KEYS[1])
if type(owner) == 'table' then return owner end
local signals = call('LLEN', KEYS[2])
local list = type(signals) == 'number'

if owner ~= ARGV[1] then
  if list then
    local wrote = call('LREM', KEYS[2], 0, '')
    if type(wrote) == 'table' then return wrote end
  end
  return 0
end

local gone = call('DEL', KEYS[1])
if type(gone) == 'table' then return gone end
if list then
  if signals == 0 then call('LPUSH', KEYS[2], '1') end
  call('PEXPIRE', KEYS[2], ARGV[2])
end
return 1
