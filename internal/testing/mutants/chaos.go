package main

// chaotic are breaks that random programs under random faults must find, and nothing else is asked: a
// checker that has never found a bug proves nothing.
var chaotic = []mutant{
	{
		"chaos m1", "the deadline counts from the reply",
		edits{
			{"internal/engine/attempt.go", "renewal.At(before)", "renewal.Now()"},
			{"renewal/run.go", "t.confirmLocked(req, sent, now)", "t.confirmLocked(req, now, now)"},
		},
		chaosRun(),
	},
	{
		"chaos m3", "release without compare",
		edits{
			{"internal/scripts/release.lua", "local ours, later = owner == ARGV[1],", "local ours, later = owner,"},
			{"internal/scripts/release.lua", "if ours and KEYS[3] then", "if false then"}, // it compares, too
		},
		chaosRun(),
	},
	{
		"chaos m4", "extend without compare, with an operator",
		edits{
			{"internal/scripts/extend.lua", "local ours = owner == ARGV[1]", "local ours = owner"},
			{"internal/scripts/extend.lua", "if ours and KEYS[3] then", "if false then"}, // it compares, too
		},
		chaosRun("-operator"),
	},
	{
		"chaos m5", "no signal",
		edits{{
			"internal/scripts/release.lua",
			"call('LPUSH', KEYS[2], ARGV[5] or '1')",
			"call('LLEN', KEYS[2])",
		}},
		chaosRun(),
	},
	{
		"chaos m7", "a signal is dropped when its waiter gives up",
		edits{{"signal/giveback.go", "	h.back[name] = &signalBack{time.Now().Add(giveFor)}\n", "	return\n"}},
		chaosRun(),
	},
	{
		"chaos m8", "a late reply is accepted",
		edits{{"renewal/set.go", "case lease.left(now) <= 0:", "case lease.left(now) <= 0 && false:"}},
		chaosRun(),
	},
	{
		"chaos valid", "Valid does not look at the clock; 8 processes",
		edits{{
			"renewal/term.go",
			"return !t.ended() && t.until.Load().left(t.set.clock()) > 0",
			"return !t.ended()",
		}},
		chaosRun("-clients=2", "-processes=8"),
	},
	{
		"chaos dropped", "dropped leases are renewed",
		edits{{
			"internal/engine/lease.go",
			"func (l *Lease) Drop() { l.dropped.Store(true) }",
			"func (l *Lease) Drop() {}",
		}},
		chaosRun(),
	},
	{
		"chaos shrunk", "what left a pool is given out",
		edits{{"internal/scripts/acquire_any.lua", "local got = score and take(i)", "local got = take(i)"}},
		chaosRun(),
	},
	{
		"chaos looks", "looks are dropped: but the first one at a name tells nobody anything",
		edits{{
			"signal/look.go",
			"	case err == nil:\n		h.learn(l.Names, left, asked)\n",
			"	case err == nil && inTurn:\n	case err == nil:\n		h.learn(l.Names, left, asked)\n",
		}},
		chaosRun().breaks("gap"),
	},
	{
		"chaos for ever", "a lock without expiry is left held, 1 minute",
		edits{{"internal/engine/lease.go", "		return now.Add(forEver)\n", "		return now\n"}},
		chaosRun("-duration=1m"),
	},
	{
		"chaos kept", "HoldAtLeast frees the lock",
		edits{{"internal/engine/lease.go", "held && time.Until(keep) > 0", "false && time.Until(keep) > 0"}},
		chaosRun(),
	},
}
