-- acquire_any takes the first lock of a pool that is free and still belongs to it, and tells which will
-- be free first if none is.
--
-- KEYS[1]   the pool, a sorted set of its members
-- KEYS[2..] for each member that may be taken, in this order: its lock and, unless ARGV[3] is 0, its fence
-- ARGV[1]   the owner id to put there
-- ARGV[2]   the TTL in milliseconds
-- ARGV[3]   the fence's TTL in milliseconds; 0: no fencing token is wanted
-- ARGV[4]   'repeat' if an earlier call with this id may have been executed; else ''
-- ARGV[5..] the members, in the order of the keys
--
-- Returns {i, token} when the lock of the i-th member is ours now, or was already under this very id
-- (only with 'repeat'; its TTL is brought back to ARGV[2], never shortened); the token is text, '0' for
-- none. Returns {0, owner, pttl} of the lock that has the least time left when all are taken; of the
-- owner at most the first 1025 bytes. Returns {} when none is taken and none belongs to the pool.
-- WRONGTYPE if the pool, the fence of the free lock or the lock with the least time left is something
-- else.
--
-- All checks stand before the first write, and the fence is written before the lock, as in acquire.
local call = redis.pcall
local fenced = ARGV[3] ~= '0'
local step = fenced and 2 or 1

local function take(i)
  local lock, token = KEYS[2 + (i - 1) * step], '0'
  if fenced then
    local fence = KEYS[3 + (i - 1) * step]
    local last = call('GET', fence)
    if last then
      if type(last) == 'table' then return last end
      if not string.find(last, '^%d+$') or #last > 16 or #last == 16 and last >= '9007199254740991' then
        return redis.error_reply('WRONGTYPE the fence key of this lock holds no fencing token')
      end
    end
    local now = call('TIME')
    if now.err then return now end
    token = now[1] .. string.sub('00000' .. now[2], -6)
    if last and #last >= #token and (last >= token or #last > #token) then
      token = string.format('%.0f', last + 1)
    end
    local set = call('SET', fence, token, 'PX', ARGV[3])
    if set.err then return set end
  end
  local set = call('SET', lock, ARGV[1], 'PX', ARGV[2])
  if set.err then return set end
  return {i, token}
end

local function again(i, pttl)
  local lock, token = KEYS[2 + (i - 1) * step], '0'
  if fenced then
    local last = call('GET', KEYS[3 + (i - 1) * step])
    if type(last) == 'table' then return last end
    if not last then return take(i) end
    token = last
  end
  if pttl >= 0 and pttl < tonumber(ARGV[2]) then
    local moved = call('PEXPIRE', lock, ARGV[2])
    if type(moved) == 'table' then return moved end
  end
  return {i, token}
end

local free, first, least
for i = 1, #ARGV - 4 do
  local lock = KEYS[2 + (i - 1) * step]
  local pttl = call('PTTL', lock)
  if type(pttl) == 'table' then return pttl end
  if ARGV[4] == 'repeat' and pttl ~= -2 and call('GET', lock) == ARGV[1] then return again(i, pttl) end
  if pttl == -2 and not free then
    local score = call('ZSCORE', KEYS[1], ARGV[4 + i])
    if type(score) == 'table' then return score end
    if score then free = i end
    if free and ARGV[4] ~= 'repeat' then break end
  elseif pttl ~= -2 and (not least or pttl >= 0 and (least < 0 or pttl < least)) then
    first, least = i, pttl
  end
end
if free then return take(free) end
if not first then return {} end

local owner = call('GET', KEYS[2 + (first - 1) * step])
if type(owner) == 'table' then return owner end
return {0, string.sub(owner, 1, 1025), least}
