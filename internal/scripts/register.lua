-- register compares the number that a register holds with another one, and sets or deletes the register
-- if the comparison holds. It can also only read.
--
-- KEYS[1]  the register
-- ARGV[1]  how the stored number may stand to the other one: some of '<', '=' and '>'; '' or left out
--          to read only
-- ARGV[2]  the smallest number that counts as equal
-- ARGV[3]  the largest; the same one if nothing is tolerated
-- ARGV[4]  the number to set; left out to delete
-- ARGV[5]  the register's expiry in milliseconds; '0' for none
-- ARGV[6]  '1': a register that is there keeps the expiry that it has, or has not
--
-- Returns {state, stored}, where stored is what was there before, as text; nil for nothing, of which every
-- comparison is true. The state is
--   'done'      it was set or deleted
--   'not done'  the comparison does not hold, or it was only read
--   'foreign'   what is stored is no number that a register can hold, and stays; at most its first 100
--               bytes are told
-- WRONGTYPE if it is no string.
--
-- Numbers are decimals of any size, compared as text: Lua's own are doubles, which do not tell
-- 9007199254740993 from 9007199254740992, and tonumber takes 0x10, blanks and, on some servers, nan. Each
-- is taken apart into a sign, the digits from the first that is not 0, and the power of ten before
-- them: -0.0120e3 is -, 120, 2. The exponent's base is given because some servers else take 08 for octal.
--
-- Before 'not done' is answered, a write that changes nothing, to whatever the register is, makes a
-- replica answer READONLY instead of comparing what it last heard.
local call, key = redis.pcall, KEYS[1]

local function parse(text)
  local sign, whole, fraction, rest = string.match(text, '^([+-]?)(%d*)%.?(%d*)(.*)$')
  local minus, power = '', '0'
  if rest ~= '' then minus, power = string.match(rest, '^[eE]([+-]?)(%d%d?%d?)$') end
  if not power or whole .. fraction == '' then return nil end
  local zeros, digits = string.match(whole .. fraction, '^(0*)(%d*)$')
  if digits == '' then return {sign = 0, power = 0, digits = ''} end
  power = tonumber(power, 10)
  if minus == '-' then power = -power end
  return {sign = sign == '-' and -1 or 1, power = power + #whole - #zeros, digits = digits}
end

-- smaller tells whether a is less than b, whatever their signs.
local function smaller(a, b)
  if a.power ~= b.power then return a.power < b.power end
  local width = math.max(#a.digits, #b.digits)
  return a.digits .. string.rep('0', width - #a.digits) < b.digits .. string.rep('0', width - #b.digits)
end

-- below tells whether a is less than b.
local function below(a, b)
  if a.sign ~= b.sign then return a.sign < b.sign end
  if a.sign < 0 then return smaller(b, a) end
  return smaller(a, b)
end

local stored = call('GET', key)
if type(stored) == 'table' then return stored end
local number
if stored then
  number = #stored <= 400 and parse(stored)
  if not number then return {'foreign', string.sub(stored, 1, 100)} end
end
if not ARGV[1] or ARGV[1] == '' then return {'not done', stored} end

if number then
  local relation = '='
  if below(number, parse(ARGV[2])) then
    relation = '<'
  elseif below(parse(ARGV[3]), number) then
    relation = '>'
  end
  if not string.find(ARGV[1], relation, 1, true) then
    local wrote = call('LREM', key, 0, '')
    if type(wrote) == 'table' and not string.find(wrote.err, 'WRONGTYPE', 1, true) then return wrote end
    return {'not done', stored}
  end
end

local wrote
if not ARGV[4] then
  wrote = call('DEL', key)
elseif stored and ARGV[6] == '1' then
  wrote = call('SET', key, ARGV[4], 'KEEPTTL')
elseif ARGV[5] == '0' then
  wrote = call('SET', key, ARGV[4])
else
  wrote = call('SET', key, ARGV[4], 'PX', ARGV[5])
end
if type(wrote) == 'table' and wrote.err then return wrote end
return {'done', stored}
