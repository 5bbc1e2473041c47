-- look_any is the re-check of those who wait for any member of a pool: how long the first of its locks
-- has left.
--
-- KEYS[..] for each pool: the sorted set of its members, and the locks of those that the client knows
-- ARGV[..] for each pool: how many it knows, and their names, in the order of their locks
--
-- Returns for each pool the PTTL of the lock that is free first: -2 for one that is free, -1 if none has an
-- expiry. Or 'others' if the pool has other members than these.
local call = redis.pcall
local left = {}
local key, arg = 1, 1
while arg <= #ARGV do
  local n = tonumber(ARGV[arg])
  local members = call('ZRANGE', KEYS[key], 0, -1)
  if members.err and not string.find(members.err, 'WRONGTYPE', 1, true) then return members end
  local belongs = {}
  for _, member in ipairs(members) do belongs[member] = true end

  local least = #members == n and -1 or 'others'
  for i = 1, n do
    if least == 'others' or least == -2 then break end
    if belongs[ARGV[arg + i]] then
      local pttl = call('PTTL', KEYS[key + i])
      if type(pttl) == 'table' then return pttl end
      if pttl == -2 or pttl >= 0 and (least < 0 or pttl < least) then least = pttl end
    else
      least = 'others'
    end
  end
  left[#left + 1] = least
  key, arg = key + 1 + n, arg + 1 + n
end
return left
