-- probe tries commands on a key that nobody uses, as the user who runs it, and leaves nothing
-- behind. It is how a client learns which rights its user has, for which asking would take others.
--
-- KEYS[1]  the key; it must not exist
-- ARGV[1..n]  the names of commands, in capitals: those in the table below
--
-- Returns for each command 'ok', or the error with which Redis refused it.
--
-- HSET and LPUSH are the only ones that make the key. It is deleted at once, in this very run, so
-- that nobody sees it; and who may not delete it does not make it either.
local arguments = {
  DEL = {}, EXISTS = {}, GET = {}, HGETALL = {}, HSET = {'f', 'v'}, LLEN = {}, LPUSH = {'1'},
  LREM = {0, ''}, PERSIST = {}, PEXPIRE = {1000}, PTTL = {}, SET = {'v', 'XX'}, TYPE = {},
}
local makes = {HSET = true, LPUSH = true}

local call, key = redis.pcall, KEYS[1]
if call('EXISTS', key) == 1 then
  return redis.error_reply('ERR the key to try commands on is in use')
end
for i = 1, #ARGV do
  if not arguments[ARGV[i]] then return redis.error_reply('ERR probe does not know ' .. ARGV[i]) end
end
local deleted = call('DEL', key)

local answers = {}
for i = 1, #ARGV do
  local name = ARGV[i]
  local reply
  if not makes[name] then
    reply = call(name, key, unpack(arguments[name]))
  elseif type(deleted) == 'table' then
    reply = {err = 'not tried: without DEL the key would stay'}
  else
    reply = call(name, key, unpack(arguments[name]))
    call('DEL', key)
  end
  answers[i] = type(reply) == 'table' and reply.err or 'ok'
end
return answers
