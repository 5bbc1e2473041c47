-- release gives the lock up if it is still held under this id, and wakes one waiter.
--
-- KEYS[1]  the lock
-- KEYS[2]  the signal
-- KEYS[3]  the fence; left out if the lease has no fencing token, or it is not known
-- ARGV[1]  the owner id
-- ARGV[2]  the signal's TTL in milliseconds
-- ARGV[3]  for how many milliseconds nobody may have the lock yet; 0: it is free at once. It and what
--          follows may be left out without KEYS[3]
-- ARGV[4]  the lease's fencing token; 0 without KEYS[3]
-- ARGV[5]  of a pool's member, what to push as the signal: its name; left out: 1
--
-- Returns 'released'; 'not held' when nobody holds it, or somebody else; or 'handed on' when somebody else
-- does so under the same id, with a later fencing token. WRONGTYPE if the lock is something else. A signal
-- key of a foreign type is left alone, and a fence that is missing, or is no token, says nothing.
--
-- A lock that is not free at once stays there with the value <id>/kept, so that no late renewal and
-- no second release touches it. A repeat that finds this returns 'released'. Waiters are woken all the
-- same: they read the new TTL and set their timers by it.
--
-- One signal at a time is enough for a lock. For a pool up to 16 wait, since two releases are for two
-- waiters.
--
-- The lock's DEL comes before all other writes, so that a Redis out of memory cannot keep a lock held
-- (it lets a script go on that has written), and errors after it are swallowed: the waiters' own look
-- heals a lost signal. Before 'not held' and 'handed on', a write that changes nothing makes a replica
-- answer READONLY instead of what it last heard.
local call, type = redis.pcall, type -- globals are slower
local owner = call('GET', KEYS[1])
if type(owner) == 'table' then return owner end
local ours, later = owner == ARGV[1], false
if ours and KEYS[3] then
  local last, token = call('GET', KEYS[3]), ARGV[4]
  if type(last) == 'table' then
    if not string.find(last.err, 'WRONGTYPE', 1, true) then return last end
  elseif last and (#last > #token or #last == #token and last > token) then
    later = string.find(last, '^%d+$')
  end
end
local keep = ARGV[3] and tonumber(ARGV[3]) > 0
local signals = call('LLEN', KEYS[2])
local list = type(signals) == 'number'

if not ours or later then
  if list then
    local wrote = call('LREM', KEYS[2], 0, '')
    if type(wrote) == 'table' then return wrote end
  end
  return later and 'handed on' or keep and owner == ARGV[1] .. '/kept' and 'released' or 'not held'
end

local gone = call('DEL', KEYS[1])
if type(gone) == 'table' then return gone end
if keep then call('SET', KEYS[1], ARGV[1] .. '/kept', 'PX', ARGV[3]) end
if list then
  if signals < (ARGV[5] and 16 or 1) then call('LPUSH', KEYS[2], ARGV[5] or '1') end
  call('PEXPIRE', KEYS[2], ARGV[2])
end
return 'released'
