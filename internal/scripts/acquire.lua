-- acquire takes the lock if it is free, and tells who holds it if it is not. It can also take it over
-- from a given id.
--
-- KEYS[1]  the lock
-- KEYS[2]  the fence; left out if no fencing token is wanted
-- ARGV[1]  the owner id to put there
-- ARGV[2]  the TTL in milliseconds
-- ARGV[3]  the fence's TTL in milliseconds; only with KEYS[2]
-- ARGV[4]  left out; or 'given': the id was chosen by the user, so finding it there is no success;
--          or 'adopt': take the lock over from whoever holds it under the id ARGV[5], and only then;
--          or 'seize': both, as ARGV[1] was chosen by the user, and is no success if it is not ARGV[5]
-- ARGV[5]  the id to take over from, which may be ARGV[1]; only with 'adopt' and 'seize'
--
-- Returns the fencing token as text ('0' without KEYS[2]) when the lock is ours now, or was already
-- under this very id (the repeat of an attempt whose reply was lost: its TTL is brought back to
-- ARGV[2], never shortened). Returns {owner, pttl} when it is taken; of the owner at most the first
-- 1025 bytes. Returns {} when there is nobody to take it over from. WRONGTYPE if the lock or the
-- fence is something else.
--
-- All checks stand before the first write, and the fence is written before the lock: an error
-- after the lock's SET would leave a lock that nobody holds. Tokens are put together and compared
-- as text, which is exact and quicker than numbers. Before a takeover or a given id that is there is
-- refused, a write that changes nothing, to whatever the lock is, makes a replica answer READONLY
-- instead of what it last heard.
local call, mode = redis.pcall, ARGV[4]
local over = mode == 'adopt' or mode == 'seize'
local owner = call('GET', KEYS[1])
local pttl
if owner then
  if type(owner) == 'table' then return owner end
  pttl = call('PTTL', KEYS[1])
  if type(pttl) == 'table' then return pttl end
end
if over and owner ~= ARGV[5] and (owner ~= ARGV[1] or mode == 'seize') or mode == 'given' and owner == ARGV[1] then
  local wrote = call('LREM', KEYS[1], 0, '')
  if type(wrote) == 'table' and not string.find(wrote.err, 'WRONGTYPE', 1, true) then return wrote end
  if not owner then return {} end
end
if over and owner == ARGV[5] then
  owner = nil -- to be overwritten, as if it were free
elseif owner and (owner ~= ARGV[1] or mode == 'given' or mode == 'seize') then
  return {string.sub(owner, 1, 1025), pttl}
end

local fence, token = KEYS[2], '0'
if fence then
  local last = call('GET', fence)
  if last then
    if type(last) == 'table' then return last end
    if not string.find(last, '^%d+$') or #last > 16 or #last == 16 and last >= '9007199254740991' then
      return redis.error_reply('WRONGTYPE the fence key of this lock holds no fencing token')
    end
  end
  if owner and last then
    token = last
  else
    local now = call('TIME')
    if now.err then return now end
    token = now[1] .. string.sub('00000' .. now[2], -6)
    if last and #last >= #token and (last >= token or #last > #token) then
      token = string.format('%.0f', last + 1)
    end
    local set = call('SET', fence, token, 'PX', ARGV[3])
    if set.err then return set end
  end
end

if not owner then
  local set = call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  if set.err then return set end
elseif pttl >= 0 and pttl < tonumber(ARGV[2]) then
  local moved = call('PEXPIRE', KEYS[1], ARGV[2])
  if type(moved) == 'table' then return moved end
end
return token
