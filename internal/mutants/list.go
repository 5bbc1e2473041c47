package main

// A mutant is one way to break the library: a text in a file that becomes another one, and the tests
// that should notice.
type mutant struct {
	name, what string
	file       string
	old, new   string
	run        string // which tests, by a pattern
	packages   []string
}

var (
	inLock    = []string{"./lock"}
	inScripts = []string{"./internal/scripts"}
	inRenewal = []string{"./renewal"}
	inSignal  = []string{"./signal"}
)

// mutants are m1 to m14, which any lock of this kind must not be, and ways in which this one was broken
// once or could be.
var mutants = []mutant{
	{
		"m1a", "the deadline counts from the acquire's reply", "lock/attempt.go",
		"Sent:      renewal.At(before),", "Sent:      renewal.Now(),",
		"FaultAcquireReplyLost", inLock,
	},
	{
		"m1b", "the deadline counts from the renewal's reply", "renewal/run.go",
		"	s.report(s.settle(a, sent, results)...)", "	s.report(s.settle(a, s.clock(), results)...)",
		".", inRenewal,
	},
	{
		"m2", "no margin", "lock/options.go",
		"	return defaultMargin(ttl)", "	return 0",
		"FaultRenewalReplyLate", inLock,
	},
	{
		"m3", "release without compare", "internal/scripts/release.lua",
		"local ours = owner == ARGV[1]", "local ours = owner",
		"Release", inScripts,
	},
	{
		"m4", "extend without compare", "internal/scripts/extend.lua",
		"local ours = owner == ARGV[1]", "local ours = owner",
		"Extend", inScripts,
	},
	{
		"m5", "no signal", "internal/scripts/release.lua",
		"if signals == 0 then call('LPUSH', KEYS[2], ARGV[5] or '1') end", "",
		"Contract/process", inLock,
	},
	{
		"m6", "unbounded BLPOP", "lock/redis_wait.go",
		"seconds := strconv.FormatFloat(d.Seconds(), 'f', 3, 64)", "seconds := strconv.Itoa(0)",
		"IdleWaiting", inLock,
	},
	{
		"m7", "a signal is dropped when its waiter gives up", "signal/giveback.go",
		"	h.back[name] = &signalBack{time.Now().Add(giveFor)}\n", "	return\n",
		".", inSignal,
	},
	{
		"m8", "a late reply is accepted", "renewal/set.go",
		"		return nil, ErrExpired\n", "",
		".", inRenewal,
	},
	{
		"m9", "renewal outlives release", "renewal/term.go",
		"		await(a.writeOver)\n", "",
		".", inRenewal,
	},
	{
		"m10", "the fencing token is drawn outside the script", "lock/attempt.go",
		"fence: fence, twice: doubt}, before)", "fence: before.UnixMicro() + 0*fence, twice: doubt}, before)",
		"FaultAcquireReplyLost", inLock,
	},
	{
		"m11", "a blind retry of the acquire", "lock/attempt.go",
		"cmp.Or(a.id, a.given())", "cmp.Or(a.given())",
		"FaultAcquireReplyLost", inLock,
	},
	{
		"m12", "a given id that is there is success", "internal/scripts/acquire.lua",
		"elseif owner and (owner ~= ARGV[1] or mode == 'given') then", "elseif owner and owner ~= ARGV[1] then",
		"Given", inLock,
	},
	{
		"m13", "the push comes before the lock's DEL", "internal/scripts/release.lua",
		"local gone = call('DEL', KEYS[1])", "local pushed = call('LPUSH', KEYS[2], '1')\nif type(pushed) == 'table' then return pushed end\nlocal gone = call('DEL', KEYS[1])",
		"OutOfMemory", inScripts,
	},
	{
		"m14", "the connections come from the user's pool", "internal/redisconn/source.go",
		"		return func(context.Context) (redis.Conn, error) { return pool.Dial() }, nil",
		"		return func(ctx context.Context) (redis.Conn, error) { return pool.GetContext(ctx) }, nil",
		"FaultPool|FaultReplica|Pool", inLock,
	},
	{
		"acquired twice", "acquire without looking who holds", "internal/scripts/acquire.lua",
		"local owner = call('GET', KEYS[1])", "local owner = false",
		"Acquire", inScripts,
	},
	{
		"replica", "a demoted master says that a lock is lost", "internal/scripts/extend.lua",
		"  local wrote = call('LREM', KEYS[2], 0, '')", "  local wrote = 0",
		"Replica", inScripts,
	},
	{
		"same id", "an older lease of the same id goes on", "lock/redis_hold.go",
		"	if e.fence != 0 {", "	if false {",
		"GivenIDTwice", inLock,
	},
	{
		"kept", "HoldAtLeast frees the lock", "lock/unlock.go",
		"held && time.Until(keep) > 0", "false && time.Until(keep) > 0",
		"HoldAtLeast", inLock,
	},
	{
		"for ever", "a lock without expiry is not given back", "lock/lease.go",
		"		h.client.janitor.expire(h.ref(false))\n", "",
		"NoExpiry", inLock,
	},
	{
		"orphan", "a cancelled acquire is not cleaned up", "lock/attempt.go",
		"		a.mutex.client.janitor.addTwice(ref, a.until)\n", "		_ = ref\n",
		"FaultAcquireRepliesLost", inLock,
	},
	{
		"shrunk", "what left a pool is given out", "internal/scripts/acquire_any.lua",
		"    if score then free = i end", "    free = i",
		"Shrink",
		[]string{"./pool"},
	},
}
