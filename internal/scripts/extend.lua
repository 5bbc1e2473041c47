-- extend prolongs the lock if it is still held under this id. It never sets the lock anew: a lost
-- lock is lost.
--
-- KEYS[1]  the lock
-- KEYS[2]  the signal
-- KEYS[3]  the fence; left out if the lease has no fencing token
-- ARGV[1]  the owner id
-- ARGV[2]  the TTL in milliseconds; +n: n more than is left; 0: as it is, only say whether it is ours;
--          -1: none, the lock is to stay for ever
-- ARGV[3]  the longest TTL that may stay, in milliseconds
-- ARGV[4]  the lease's fencing token; only with KEYS[3]
--
-- Returns {1, pttl} with the TTL that the lock has now: ARGV[2], or the larger one that it had, as
-- long as that is not beyond ARGV[3] (then, or without any TTL, somebody else or the server's clock
-- changed it, and it is set right). It is {1, pttl, -1} if the lock had no TTL and should have had
-- one. Returns {0, owner} (at most the first 1025 bytes, false if it is
-- free) when it is not ours: another id, or ours with a later fencing token, so that somebody has
-- taken it under the same id since. WRONGTYPE if the lock is something else.
--
-- The fence is kept for at least twice as long as the lock.
--
-- Before it answers without having changed anything, a write that changes nothing makes a replica
-- answer READONLY instead of what it last heard; it is left out if the signal key is of a foreign
-- type. A fence that is missing, or is no token, says nothing.
local call = redis.pcall
local function master()
  local wrote = call('LREM', KEYS[2], 0, '')
  if type(wrote) == 'table' and not string.find(wrote.err, 'WRONGTYPE', 1, true) then return wrote end
end

-- 302400000: half of the week for which an acquire has the fence kept.
local function remember(ttl)
  if not KEYS[3] or ttl <= 302400000 then return end
  local left = call('PTTL', KEYS[3])
  if type(left) == 'number' and left >= 0 and left < 2 * ttl then
    call('PEXPIRE', KEYS[3], string.format('%.0f', 2 * ttl))
  end
end

local owner = call('GET', KEYS[1])
if type(owner) == 'table' then return owner end
local ours = owner == ARGV[1]
if ours and KEYS[3] then
  local last, token = call('GET', KEYS[3]), ARGV[4]
  if type(last) == 'table' then
    if not string.find(last.err, 'WRONGTYPE', 1, true) then return last end
  elseif last and (#last > #token or #last == #token and last > token) then
    ours = not string.find(last, '^%d+$')
  end
end
if not ours then
  return master() or {0, owner and string.sub(owner, 1, 1025)}
end

local pttl = call('PTTL', KEYS[1])
if type(pttl) == 'table' then return pttl end
local ttl = tonumber(ARGV[2])
if ttl == 0 then return master() or {1, pttl} end
if string.sub(ARGV[2], 1, 1) == '+' then
  ttl = math.max(pttl, 0) + ttl
  local moved = call('PEXPIRE', KEYS[1], string.format('%.0f', ttl))
  if type(moved) == 'table' then return moved end
  remember(ttl)
  return {1, ttl}
end
if ttl < 0 then
  if pttl < 0 then return master() or {1, -1} end
  local kept = call('PERSIST', KEYS[1])
  if type(kept) == 'table' then return kept end
  return {1, -1}
end
if pttl >= ttl and pttl <= tonumber(ARGV[3]) then
  return master() or {1, pttl}
end
local moved = call('PEXPIRE', KEYS[1], ARGV[2])
if type(moved) == 'table' then return moved end
remember(ttl)
if pttl < 0 then return {1, ttl, pttl} end
return {1, ttl}
