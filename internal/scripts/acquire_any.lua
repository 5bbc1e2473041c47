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
-- none. Returns {0, owner, pttl, others} of the lock that has the least time left when all that belong
-- to the pool are taken; of the owner at most the first 1025 bytes; others is 1 if the pool has members
-- that are not among these. Returns {} when none of them belongs to the pool.
--
-- A member whose lock or fence is something else is passed over: WRONGTYPE, with its name, only if there
-- is no other one. WRONGTYPE also if the pool is something else.
--
-- All checks stand before the first write, and the fence is written before the lock, as in acquire.
local call = redis.pcall
local fenced = ARGV[3] ~= '0'
local step = fenced and 2 or 1
local n = #ARGV - 4

local function lock(i) return KEYS[2 + (i - 1) * step] end
local function fence(i) return KEYS[3 + (i - 1) * step] end
local function foreign(reply) return string.find(reply.err, 'WRONGTYPE', 1, true) end
local function wrong(i)
  return redis.error_reply('WRONGTYPE the lock or the fence of the pool member ' .. ARGV[4 + i] .. ' is something else')
end

local function take(i)
  local token = '0'
  if fenced then
    local last = call('GET', fence(i))
    if last then
      if type(last) == 'table' then return foreign(last) and wrong(i) or last end
      if not string.find(last, '^%d+$') or #last > 16 or #last == 16 and last >= '9007199254740991' then
        return wrong(i)
      end
    end
    local now = call('TIME')
    if now.err then return now end
    token = now[1] .. string.sub('00000' .. now[2], -6)
    if last and #last >= #token and (last >= token or #last > #token) then
      token = string.format('%.0f', last + 1)
    end
    local set = call('SET', fence(i), token, 'PX', ARGV[3])
    if set.err then return set end
  end
  local set = call('SET', lock(i), ARGV[1], 'PX', ARGV[2])
  if set.err then return set end
  return {i, token}
end

local function again(i)
  local token = '0'
  if fenced then
    local last = call('GET', fence(i))
    if type(last) == 'table' then return last end
    if not last then return take(i) end
    token = last
  end
  local pttl = call('PTTL', lock(i))
  if type(pttl) == 'table' then return pttl end
  if pttl >= 0 and pttl < tonumber(ARGV[2]) then
    local moved = call('PEXPIRE', lock(i), ARGV[2])
    if type(moved) == 'table' then return moved end
  end
  return {i, token}
end

if ARGV[4] == 'repeat' then
  for i = 1, n do
    if call('GET', lock(i)) == ARGV[1] then return again(i) end
  end
end

local left, bad = {}, nil
for i = 1, n do
  left[i] = call('PTTL', lock(i))
  if type(left[i]) == 'table' then return left[i] end
  if left[i] == -2 then
    local score = call('ZSCORE', KEYS[1], ARGV[4 + i])
    if type(score) == 'table' then return score end
    local got = score and take(i)
    if got and not (got.err and foreign(got)) then return got end
    bad = got or bad
  end
end

local members = call('ZRANGE', KEYS[1], 0, -1)
if members.err then return members end
local belongs, known = {}, 0
for _, member in ipairs(members) do belongs[member] = true end
local first, owner
for i = 1, n do
  if belongs[ARGV[4 + i]] then
    known = known + 1
    if left[i] ~= -2 and (not first or left[i] >= 0 and (left[first] < 0 or left[i] < left[first])) then
      local value = call('GET', lock(i))
      if type(value) == 'string' then
        first, owner = i, value
      elseif value and foreign(value) then
        bad = wrong(i)
      elseif value then
        return value
      end
    end
  end
end
if first then return {0, string.sub(owner, 1, 1025), left[first], #members > known and 1 or 0} end
return bad or {}
