-- acquire is a compare and set: it takes the lock if it holds what must be there, which is nothing or a
-- given id, and tells who holds it if it does not.
--
-- KEYS[1]  the lock
-- KEYS[2]  the fence; left out if no fencing token is wanted
-- ARGV[1]  the owner id to put there
-- ARGV[2]  the TTL in milliseconds
-- ARGV[3]  the fence's TTL in milliseconds; only with KEYS[2]
-- ARGV[4]  'chosen' if the user chose the id ARGV[1]; else '' or left out
-- ARGV[5]  the id that must be there, which may be ARGV[1]; '' or left out: the lock must be free
--
-- The lock holds what must be there: it is ours now. Or it holds ARGV[1], and nobody chose that id: this
-- is the repeat of an attempt whose reply was lost. Its TTL is brought back to ARGV[2], never shortened.
-- A chosen id may be somebody else's as well, so that finding it is no success.
--
-- Returns the fencing token as text when the lock is ours, '0' without KEYS[2]; of a repeat the one that
-- is stored. Returns {owner, pttl} when another value is there; of the owner at most the first 1025
-- bytes. Returns {} when nothing is there and something must be. WRONGTYPE if the lock or the fence is
-- something else.
--
-- All checks stand before the first write, and the fence is written before the lock: an error
-- after the lock's SET would leave a lock that nobody holds. Tokens are put together and compared
-- as text, which is exact and quicker than numbers. Before a takeover or a chosen id that is there is
-- refused, a write that changes nothing, to whatever the lock is, makes a replica answer READONLY
-- instead of what it last heard.
local call, id = redis.pcall, ARGV[1]
local must = ARGV[5] ~= '' and ARGV[5] or false -- as GET tells of a free lock
local owner, pttl = call('GET', KEYS[1]), nil
if owner then
  if type(owner) == 'table' then return owner end
  pttl = call('PTTL', KEYS[1])
  if type(pttl) == 'table' then return pttl end
end
local again = owner == id and owner ~= must and ARGV[4] ~= 'chosen'
if owner ~= must and not again then
  if must or owner == id then
    local wrote = call('LREM', KEYS[1], 0, '')
    if type(wrote) == 'table' and not string.find(wrote.err, 'WRONGTYPE', 1, true) then return wrote end
  end
  return owner and {string.sub(owner, 1, 1025), pttl} or {}
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
  if again and last then
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

if not again then
  local set = call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  if set.err then return set end
elseif pttl >= 0 and pttl < tonumber(ARGV[2]) then
  local moved = call('PEXPIRE', KEYS[1], ARGV[2])
  if type(moved) == 'table' then return moved end
end
return token
