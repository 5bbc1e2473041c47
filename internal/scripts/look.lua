-- look is the re-check of one wait connection: how long each of its locks has left. It also writes the
-- hash that tells operators who waits there.
--
-- KEYS[1..n]  the locks
-- KEYS[n+1]   the hash of the connection's waiters
-- ARGV[1]     the hash's TTL in milliseconds; 0: leave the hash alone
-- ARGV[2..]   pairs for the hash: a name, and how many wait for it. They replace what was there
--
-- Returns for each lock its PTTL: -2 for one that is free, -1 for one without expiry. Or 'foreign' for what is
-- no lock but of some other type.
--
-- With ARGV[1] = 'wake' it ends the blocking read of a wait connection instead: KEYS[1] is that one's
-- inbox, ARGV[2] the inbox's TTL in milliseconds. The writes are one, so that an inbox that nobody reads
-- any more expires, and holds one call at most.
--
-- The hash is a courtesy: that it cannot be written (out of memory, not allowed, a foreign type)
-- disturbs nobody's waiting. A key of a foreign type is left alone, its TTL too.
if ARGV[1] == 'wake' then
  local calls = redis.pcall('LLEN', KEYS[1])
  if type(calls) == 'table' then return calls end
  if calls == 0 then
    local pushed = redis.pcall('LPUSH', KEYS[1], '1')
    if type(pushed) == 'table' then return pushed end
  end
  redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
  return {}
end

local n = #KEYS - 1
local left = {}
for i = 1, n do
  local pttl = redis.pcall('PTTL', KEYS[i])
  if type(pttl) == 'table' then return pttl end
  if pttl ~= -2 then
    local kind = redis.pcall('TYPE', KEYS[i])
    if kind.err then return kind end
    if kind.ok ~= 'string' then pttl = 'foreign' end
  end
  left[i] = pttl
end

if ARGV[1] ~= '0' and #ARGV > 1 then
  if redis.pcall('TYPE', KEYS[n + 1]).ok == 'hash' then redis.pcall('DEL', KEYS[n + 1]) end
  local wrote = redis.pcall('HSET', KEYS[n + 1], unpack(ARGV, 2))
  if type(wrote) == 'number' then redis.pcall('PEXPIRE', KEYS[n + 1], ARGV[1]) end
end
return left
