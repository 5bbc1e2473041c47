-- extend prolongs the lock if it is still held under this id. It never sets the lock anew: a lost
-- lock is lost.
--
-- KEYS[1]  the lock
-- KEYS[2]  the signal
-- KEYS[3]  the fence; left out if the lease has no fencing token
-- ARGV[1]  the owner id
-- ARGV[2]  what is to become of the TTL:
--          'to'       at least ARGV[3]
--          'cut'      ARGV[3]; but one between that and ARGV[5] stays
--          'by'       ARGV[3] more than is left
--          'persist'  none: the lock is to stay for ever
--          'check'    nothing
-- ARGV[3]  milliseconds; 0 with 'persist' and 'check'
-- ARGV[4]  the lease's fencing token; 0 without KEYS[3]
-- ARGV[5]  milliseconds; only with 'cut'
--
-- Returns {state, owner, pttl}. The state is
--   'ours'   the lock is ours, and has pttl now
--   'bare'   it is ours, and had no TTL though 'to' or 'cut' says that it should; it has pttl now
--   'other'  it is somebody else's, who is the owner: of that at most the first 1025 bytes. Also ours with a
--            later fencing token, so that somebody has taken it under the same id since
--   'free'   nobody holds it
-- The owner is '' in all states but 'other'. WRONGTYPE if the lock is something else.
--
-- The fence is kept for at least twice as long as the lock.
--
-- Before it answers without having changed anything, a write that changes nothing makes a replica
-- answer READONLY instead of what it last heard; it is left out if the signal key is of a foreign
-- type. A fence that is missing, or is no token, says nothing.
local call, verb = redis.pcall, ARGV[2]
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
local pttl = call('PTTL', KEYS[1])
if type(pttl) == 'table' then return pttl end

local state, ttl, text = 'ours', tonumber(ARGV[3]), nil
if not ours then
  state = owner and 'other' or 'free'
elseif verb == 'to' and pttl < ttl or verb == 'cut' and (pttl < ttl or pttl > tonumber(ARGV[5])) then
  text = ARGV[3]
  if pttl < 0 then state = 'bare' end
elseif verb == 'by' then
  if pttl > 0 then ttl = pttl + ttl end
  text = string.format('%.0f', ttl)
elseif verb == 'persist' and pttl >= 0 then
  local kept = call('PERSIST', KEYS[1])
  if type(kept) == 'table' then return kept end
  return {state, '', -1}
end

if not text then
  local wrote = call('LREM', KEYS[2], 0, '')
  if type(wrote) == 'table' and not string.find(wrote.err, 'WRONGTYPE', 1, true) then return wrote end
  return {state, state == 'other' and string.sub(owner, 1, 1025) or '', pttl}
end
local moved = call('PEXPIRE', KEYS[1], text)
if type(moved) == 'table' then return moved end
if KEYS[3] and ttl > 302400000 then -- half of the week for which an acquire has the fence kept
  local left = call('PTTL', KEYS[3])
  if type(left) == 'number' and left >= 0 and left < 2 * ttl then
    call('PEXPIRE', KEYS[3], string.format('%.0f', 2 * ttl))
  end
end
return {state, '', ttl}
