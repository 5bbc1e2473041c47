-- acquire takes the lock if it is free, and tells who holds it if it is not.
--
-- KEYS[1]  the lock
-- KEYS[2]  the fence; left out if no fencing token is wanted
-- ARGV[1]  the owner id to put there
-- ARGV[2]  the TTL in milliseconds
-- ARGV[3]  the fence's TTL in milliseconds; only with KEYS[2]
--
-- Returns {1, token} when the lock is ours now, or was already under this very id (the repeat of
-- an attempt whose reply was lost: its TTL is brought back to ARGV[2], never shortened). The token
-- is false without KEYS[2]. Returns {0, owner, pttl} when it is taken; of the owner at most the
-- first 1025 bytes. WRONGTYPE if the lock or the fence is something else.
--
-- All checks stand before the first write, and the fence is written before the lock: an error
-- after the lock's SET would leave a lock that nobody holds.
local owner = redis.pcall('GET', KEYS[1])
if type(owner) == 'table' then return owner end
if owner and owner ~= ARGV[1] then
  local pttl = redis.pcall('PTTL', KEYS[1])
  if type(pttl) == 'table' then return pttl end
  return {0, string.sub(owner, 1, 1025), pttl}
end

local pttl
if owner then
  pttl = redis.pcall('PTTL', KEYS[1])
  if type(pttl) == 'table' then return pttl end
end

local token, write = false, false
if KEYS[2] then
  local last = redis.pcall('GET', KEYS[2])
  if type(last) == 'table' then return last end
  if last then
    if not string.find(last, '^%d+$') or #last > 16 or tonumber(last) >= 9007199254740991 then
      return redis.error_reply('WRONGTYPE the fence key of this lock holds no fencing token')
    end
  end
  if owner and last then
    token = last
  else
    -- Digits are put together and compared as text: that is exact, and quicker than numbers.
    local now = redis.pcall('TIME')
    if now.err then return now end
    token = now[1] .. string.sub('00000' .. now[2], -6)
    if last and (#last > #token or #last == #token and last >= token) then
      token = string.format('%.0f', last + 1)
    end
    write = true
  end
end

if write then
  local set = redis.pcall('SET', KEYS[2], token, 'PX', ARGV[3])
  if set.err then return set end
end
if owner then
  if pttl >= 0 and pttl < tonumber(ARGV[2]) then
    local moved = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
    if type(moved) == 'table' then return moved end
  end
else
  local set = redis.pcall('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  if set.err then return set end
end
return {1, token and tonumber(token)}
