package main

// classics are m1 to m14: what any lock of this kind must not be.
var classics = []mutant{
	{
		"m1a", "the deadline counts from the acquire's reply",
		edits{{"internal/engine/attempt.go", "Sent:      renewal.At(before),", "Sent:      renewal.Now(),"}},
		tests{in: "internal/testing/faults", run: "FaultAcquireReplyLost"},
	},
	{
		"m1b", "the deadline counts from the renewal's reply",
		edits{{
			"renewal/run.go",
			"	s.report(s.settle(a, sent, results)...)",
			"	s.report(s.settle(a, s.clock(), results)...)",
		}},
		tests{in: "renewal", run: "."},
	},
	{
		"m2", "no margin",
		edits{{"internal/engine/settings.go", "	return defaultMargin(ttl)", "	return 0"}},
		tests{in: "internal/testing/faults", run: "FaultRenewalReplyLate"},
	},
	{
		"m3", "release without compare",
		edits{{
			"internal/scripts/release.lua",
			"local ours, later = owner == ARGV[1], false",
			"local ours, later = owner, false",
		}},
		tests{in: "internal/scripts", run: "Release"},
	},
	{
		"m4", "extend without compare",
		edits{{"internal/scripts/extend.lua", "local ours = owner == ARGV[1]", "local ours = owner"}},
		tests{in: "internal/scripts", run: "Extend"},
	},
	{
		"m5", "no signal",
		edits{{"internal/scripts/release.lua", "call('LPUSH', KEYS[2], ARGV[5] or '1')", "local _ = 0"}},
		tests{in: "lock", run: "Contract/process"},
	},
	{
		"m6", "unbounded BLPOP",
		edits{{
			"internal/store/blocking.go",
			"strconv.FormatFloat(d.Seconds(), 'f', 3, 64)",
			"strconv.Itoa(0)",
		}},
		tests{in: "internal/store", run: "ReadIsGivenUp"},
	},
	{
		"m7", "a signal is dropped when its waiter gives up",
		edits{{
			"signal/giveback.go",
			"	h.back[name] = &signalBack{time.Now().Add(giveFor)}\n",
			"	return\n",
		}},
		tests{in: "signal", run: "."},
	},
	{
		"m8", "a late reply is accepted",
		edits{{"renewal/set.go", "		return nil, ErrExpired\n", ""}},
		tests{in: "renewal", run: "."},
	},
	{
		"m9", "renewal outlives release",
		edits{{"renewal/end.go", "		await(carrier)\n", ""}},
		tests{in: "renewal", run: "."},
	},
	{
		"m10", "the fencing token is drawn outside the script",
		edits{{
			"internal/store/acquire.go",
			"got.Lock.Fence = fence",
			"got.Lock.Fence = before.UnixMicro() + 0*fence",
		}},
		tests{in: "internal/testing/faults", run: "FaultAcquireReplyLost"},
	},
	{
		"m11", "a blind retry of the acquire",
		edits{{"internal/engine/attempt.go", "cmp.Or(a.lost.order.ID, a.chosen)", "cmp.Or(a.chosen)"}},
		tests{in: "internal/testing/faults", run: "FaultAcquireReplyLost"},
	},
	{
		"m12", "a given id that is there is success",
		edits{{
			"internal/scripts/acquire.lua",
			"owner ~= must and ARGV[4] ~= 'chosen'",
			"owner ~= must",
		}},
		tests{in: "lock", run: "Given"},
	},
	{
		"m13", "the push comes before the lock's DEL",
		edits{{
			"internal/scripts/release.lua",
			"local gone = call('DEL', KEYS[1])",
			"local pushed = call('LPUSH', KEYS[2], '1')\nif type(pushed) == 'table' then return pushed end\nlocal gone = call('DEL', KEYS[1])",
		}},
		tests{in: "internal/scripts", run: "OutOfMemory"},
	},
	{
		"m14", "the connections come from the user's pool",
		edits{{
			"internal/redisconn/dialer.go",
			"(redis.Conn, error) { return pool.Dial() }}, nil",
			"(redis.Conn, error) { return pool.Get(), nil }}, nil",
		}},
		tests{in: "internal/testing/faults", run: "FaultPool|FaultReplica"},
	},
}
