-- reset gives the lock up if it still has the value that was seen, whoever's it is, and wakes one waiter.
--
-- KEYS[1]  the lock
-- KEYS[2]  the signal
-- ARGV[1]  the signal's TTL in milliseconds
-- ARGV[2]  the value, at most its first 1025 bytes; left out: nobody held it
--
-- Returns {state, owner, pttl}, with the owner and the PTTL as they were before; of the owner at most the
-- first 1025 bytes. The state is
--   'reset'  it was held with that value
--   'other'  another value is there, and stays
--   'free'   nobody holds it; the owner is ''
-- WRONGTYPE, and nothing touched, if the lock is something else. A signal key of a foreign type is left
-- alone.
--
-- A free lock gets a signal too, if none is there: a waiter of python-redis-lock without expire sleeps on
-- if the lock became free without one.
--
-- The lock's DEL comes before the push, as in release. Before 'other' and 'free', a write that changes
-- nothing makes a replica answer READONLY instead of what it last heard.
local owner = redis.pcall('GET', KEYS[1])
if type(owner) == 'table' then return owner end
local pttl = redis.pcall('PTTL', KEYS[1])
if type(pttl) == 'table' then return pttl end
local signals = redis.pcall('LLEN', KEYS[2])
local list, value = type(signals) == 'number', owner and string.sub(owner, 1, 1025) or ''

if not owner or value ~= ARGV[2] then
  if list then
    local wrote = redis.pcall('LREM', KEYS[2], 0, '')
    if type(wrote) == 'table' then return wrote end
    if not owner and signals == 0 then
      redis.pcall('LPUSH', KEYS[2], '1')
      redis.pcall('PEXPIRE', KEYS[2], ARGV[1])
    end
  end
  return {owner and 'other' or 'free', value, pttl}
end

local gone = redis.pcall('DEL', KEYS[1])
if type(gone) == 'table' then return gone end
if list then
  if signals == 0 then redis.pcall('LPUSH', KEYS[2], '1') end
  redis.pcall('PEXPIRE', KEYS[2], ARGV[1])
end
return {'reset', value, pttl}
