-- extend prolongs the lock if it is still held under this id. It never sets the lock anew: a lost
-- lock is lost.
--
-- KEYS[1]  the lock
-- KEYS[2]  the signal
-- ARGV[1]  the owner id
-- ARGV[2]  the TTL in milliseconds
-- ARGV[3]  the longest TTL that may stay, in milliseconds
--
-- Returns {1, pttl} with the TTL that the lock has now: ARGV[2], or the larger one that it had, as
-- long as that is not beyond ARGV[3] (then, or without any TTL, somebody else or the server's clock
-- changed it, and it is set right). Returns {0, owner} (at most the first 1025 bytes, false if it is
-- free) when it is not ours. WRONGTYPE if the lock is something else.
--
-- Before it answers without having changed anything, a write that changes nothing makes a replica
-- answer READONLY instead of what it last heard; it is left out if the signal key is of a foreign
-- type.
local call = redis.pcall
local function master()
  local wrote = call('LREM', KEYS[2], 0, '')
  if type(wrote) == 'table' and not string.find(wrote.err, 'WRONGTYPE', 1, true) then return wrote end
end

local owner = call('GET', KEYS[1])
if type(owner) == 'table' then return owner end
if owner ~= ARGV[1] then
  return master() or {0, owner and string.sub(owner, 1, 1025)}
end

local pttl = call('PTTL', KEYS[1])
if type(pttl) == 'table' then return pttl end
if pttl >= tonumber(ARGV[2]) and pttl <= tonumber(ARGV[3]) then
  return master() or {1, pttl}
end
local moved = call('PEXPIRE', KEYS[1], ARGV[2])
if type(moved) == 'table' then return moved end
return {1, tonumber(ARGV[2])}
