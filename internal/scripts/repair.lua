-- repair gives a signal back that was taken and not used: it pushes one if the lock is free and no
-- signal is there, or of a pool's member not more than 15. It is sent once for each signal that was taken, never periodically: a push
-- restarts the timeouts of python-redis-lock's waiters.
--
-- KEYS[1]  the lock
-- KEYS[2]  the signal
-- ARGV[1]  the signal's TTL in milliseconds
-- ARGV[2]  of a pool's member, what to push as the signal: its name; left out, or empty: 1
-- ARGV[3]  a value that should have expired by now; left out: none
--
-- Returns for how many milliseconds the lock still has the value ARGV[3], which clocks that differ bring
-- about; 0 if it has not. A signal key of a foreign type is left alone.
local member = ARGV[2] ~= '' and ARGV[2]
local held = redis.pcall('EXISTS', KEYS[1])
if type(held) == 'table' then return held end
if held == 1 then
  if not ARGV[3] or redis.pcall('GET', KEYS[1]) ~= ARGV[3] then return 0 end
  return redis.pcall('PTTL', KEYS[1])
end
local signals = redis.pcall('LLEN', KEYS[2])
if type(signals) == 'table' or signals >= (member and 16 or 1) then return 0 end
local pushed = redis.pcall('LPUSH', KEYS[2], member or '1')
if type(pushed) == 'table' then return pushed end
redis.pcall('PEXPIRE', KEYS[2], ARGV[1])
return 0
