-- take reads the signals that wait for one wait connection, right after its blocking read, which reads
-- only one. It does not block.
--
-- KEYS[..]  the signals
--
-- Returns which of them there were, by their place in KEYS.
--
-- A signal that names a member of a pool stays for the blocking read, which tells what it says. Keys of
-- a foreign type are left alone: the blocking read complains of them.
local taken = {}
for i, key in ipairs(KEYS) do
  local n = redis.pcall('LREM', key, 0, '1')
  if type(n) == 'number' and n > 0 then taken[#taken + 1] = i end
end
return taken
