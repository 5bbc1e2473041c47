package main

// A mutant is one way to break the library: a text in a file that becomes another one, and the tests
// that should notice.
type mutant struct {
	name, what string
	file       string
	old, new   string
	run        string   // which tests, by a pattern
	in         string   // their package's directory
	args       []string // for their flags
}

// classics are m1 to m14: what any lock of this kind must not be.
var classics = []mutant{
	{
		"m1a", "the deadline counts from the acquire's reply", "lock/attempt.go",
		"Sent:      renewal.At(before),", "Sent:      renewal.Now(),",
		"FaultAcquireReplyLost", "lock", nil,
	},
	{
		"m1b", "the deadline counts from the renewal's reply", "renewal/run.go",
		"	s.report(s.settle(a, sent, results)...)", "	s.report(s.settle(a, s.clock(), results)...)",
		".", "renewal", nil,
	},
	{
		"m2", "no margin", "lock/options.go",
		"	return defaultMargin(ttl)", "	return 0",
		"FaultRenewalReplyLate", "lock", nil,
	},
	{
		"m3", "release without compare", "internal/scripts/release.lua",
		"local ours, later = owner == ARGV[1], false", "local ours, later = owner, false",
		"Release", "internal/scripts", nil,
	},
	{
		"m4", "extend without compare", "internal/scripts/extend.lua",
		"local ours = owner == ARGV[1]", "local ours = owner",
		"Extend", "internal/scripts", nil,
	},
	{
		"m5", "no signal", "internal/scripts/release.lua",
		"call('LPUSH', KEYS[2], ARGV[5] or '1')", "local _ = 0",
		"Contract/process", "lock", nil,
	},
	{
		"m6", "unbounded BLPOP", "lock/redis_wait.go",
		"strconv.FormatFloat(d.Seconds(), 'f', 3, 64)", "strconv.Itoa(0)",
		"ReadIsGivenUp", "lock", nil,
	},
	{
		"m7", "a signal is dropped when its waiter gives up", "signal/giveback.go",
		"	h.back[name] = &signalBack{time.Now().Add(giveFor)}\n", "	return\n",
		".", "signal", nil,
	},
	{
		"m8", "a late reply is accepted", "renewal/set.go",
		"		return nil, ErrExpired\n", "",
		".", "renewal", nil,
	},
	{
		"m9", "renewal outlives release", "renewal/term.go",
		"		await(a.writeOver)\n", "",
		".", "renewal", nil,
	},
	{
		"m10", "the fencing token is drawn outside the script", "lock/attempt.go",
		"fence: fence, twice: doubt}, before)", "fence: before.UnixMicro() + 0*fence, twice: doubt}, before)",
		"FaultAcquireReplyLost", "lock", nil,
	},
	{
		"m11", "a blind retry of the acquire", "lock/attempt.go",
		"cmp.Or(a.id, a.given())", "cmp.Or(a.given())",
		"FaultAcquireReplyLost", "lock", nil,
	},
	{
		"m12", "a given id that is there is success", "internal/scripts/acquire.lua",
		"owner ~= must and ARGV[5] ~= 'chosen'", "owner ~= must",
		"Given", "lock", nil,
	},
	{
		"m13", "the push comes before the lock's DEL", "internal/scripts/release.lua",
		"local gone = call('DEL', KEYS[1])", "local pushed = call('LPUSH', KEYS[2], '1')\nif type(pushed) == 'table' then return pushed end\nlocal gone = call('DEL', KEYS[1])",
		"OutOfMemory", "internal/scripts", nil,
	},
	{
		"m14", "the connections come from the user's pool", "internal/redisconn/source.go",
		"(redis.Conn, error) { return pool.Dial() }}, nil",
		"(redis.Conn, error) { return pool.Get(), nil }}, nil",
		"FaultPool|FaultReplica|Pool", "lock", nil,
	},
}
