-- reset gives the lock up whoever holds it, and wakes one waiter.
--
-- KEYS[1]  the lock
-- KEYS[2]  the signal
-- ARGV[1]  the signal's TTL in milliseconds
--
-- Returns {1, owner, pttl} as they were (of the owner at most the first 1025 bytes), or {0} when
-- nobody held it. WRONGTYPE, and nothing touched, if the lock is something else; a signal key of a
-- foreign type is left alone.
--
-- The lock's DEL comes before the push, as in release. Before {0}, a write that changes nothing
-- makes a replica answer READONLY instead of what it last heard.
local owner = redis.pcall('GET', KEYS[1])
if type(owner) == 'table' then return owner end
local signals = redis.pcall('LLEN', KEYS[2])
local list = type(signals) == 'number'

if not owner then
  if list then
    local wrote = redis.pcall('LREM', KEYS[2], 0, '')
    if type(wrote) == 'table' then return wrote end
  end
  return {0}
end

local pttl = redis.pcall('PTTL', KEYS[1])
if type(pttl) == 'table' then return pttl end
local gone = redis.pcall('DEL', KEYS[1])
if type(gone) == 'table' then return gone end
if list then
  if signals == 0 then redis.pcall('LPUSH', KEYS[2], '1') end
  redis.pcall('PEXPIRE', KEYS[2], ARGV[1])
end
return {1, string.sub(owner, 1, 1025), pttl}
