package main

// others are ways in which this library was broken once, or could be.
var others = []mutant{
	{
		"no kill", "what a predecessor left under way is not ended",
		edits{{"internal/redisconn/greeting.go", "	if len(victims) == 0 {", "	if true {"}},
		tests{in: "internal/redisconn", run: "Orphan|Ghost|Predecessor"},
	},
	{
		"dial dropped", "a dial is given up with who waited for it",
		edits{{"internal/redisconn/port.go", "	case <-t.C:\n", "	case <-t.C:\n		p.Hangup()\n"}},
		tests{in: "internal/redisconn", run: "Slow"},
	},
	{
		"fresh sacrificed", "too little time costs a new connection",
		edits{{"internal/redisconn/call.go", "|| left < needs && left < had/2", ""}},
		tests{in: "internal/redisconn", run: "FreshConnection"},
	},
	{
		"storm", "dials without a pause",
		edits{{
			"internal/redisconn/pace.go",
			"	if p.pause == 0 {\n		return 0, nil",
			"	if true {\n		return 0, nil",
		}},
		tests{in: "internal/redisconn", run: "Storm"},
	},
	{
		"neighbour", "a call is cut by the time of one before it",
		edits{{"internal/redisconn/flight.go", "f.calls[0].by != f.armed", "false"}},
		tests{in: "internal/redisconn", run: "AnsweredNeighbour"},
	},
	{
		"acquired twice", "acquire without looking who holds",
		edits{{
			"internal/scripts/acquire.lua",
			"local owner, pttl = call('GET', KEYS[1]), nil",
			"local owner, pttl = false, nil",
		}},
		tests{in: "internal/scripts", run: "Acquire"},
	},
	{
		"replica", "a demoted master says that a lock is lost",
		edits{{
			"internal/scripts/extend.lua",
			"  local wrote = call('LREM', KEYS[2], 0, '')",
			"  local wrote = 0",
		}},
		tests{in: "internal/scripts", run: "Replica"},
	},
	{
		"same id", "an older lease of the same id goes on",
		edits{{
			"internal/store/lock.go",
			"e.arguments(l.ID, l.Fence)}\n	if l.Fence != 0 {",
			"e.arguments(l.ID, l.Fence)}\n	if false {",
		}},
		tests{in: "lock", run: "GivenIDTwice"},
	},
	{
		"kept", "HoldAtLeast frees the lock",
		edits{{"internal/engine/lease.go", "held && time.Until(keep) > 0", "false && time.Until(keep) > 0"}},
		tests{in: "lock", run: "HoldAtLeast"},
	},
	{
		"for ever", "a lock without expiry is not given back",
		edits{{"internal/engine/lease.go", "		l.janitor.Expire(l.holding)\n", ""}},
		tests{in: "lock", run: "NoExpiry"},
	},
	{
		"orphan", "a cancelled acquire is not cleaned up",
		edits{{
			"internal/engine/attempt.go",
			"func (a *attempt) settle() { a.lost.cleanUp(a.engine.janitor, time.Now()) }",
			"func (a *attempt) settle() { a.lost.settled() }",
		}},
		tests{in: "internal/testing/faults", run: "FaultAcquireRepliesLost"},
	},
	{
		"shrunk", "what left a pool is given out",
		edits{{
			"internal/scripts/acquire_any.lua",
			"    local got = score and take(i)",
			"    local got = take(i)",
		}},
		tests{in: "pool", run: "Shrink"},
	},
	{
		"gate", "a gate lets older tokens pass",
		edits{{
			"register/gate.go",
			"setting(LessOrEqual, Int(token), Int(token)",
			"setting(NotEqual, Int(token), Int(token)",
		}},
		tests{in: "register", run: "Gate"},
	},
	{
		"set if", "a register compares the wrong way",
		edits{{"internal/scripts/register.lua", "    relation = '<'", "    relation = '>'"}},
		tests{in: "register", run: "Comparisons"},
	},
	{
		"computed twice", "who waited for the lock does not look again",
		edits{{
			"once/cache.go",
			"	case !ok:\n		value, err = c.compute(",
			"	case !ok || true:\n		value, err = c.compute(",
		}},
		tests{in: "once", run: "."},
	},
	{
		"stuck", "a computation that fails lets nobody try again",
		edits{{"once/queue.go", "		<-q.turn\n", ""}},
		tests{in: "once", run: "."},
	},
	{
		"alone", "each client of an embedded server has its own",
		edits{{
			"embedded/embedded.go",
			"return lock.New(s.Pool(), o)",
			"return lock.New(New().Pool(), o)",
		}},
		tests{in: "embedded", run: "."},
	},
	{
		"no clock", "nothing expires in an embedded server",
		edits{{"internal/inmemory/server.go", "	m.ClockTTL(true)\n", ""}},
		tests{in: "locktest", run: "NoTwoImports"},
	},
	{
		"member", "a pool gives a member that is held",
		edits{{"internal/scripts/acquire_any.lua", "  if left[i] == -2 then", "  if left[i] then"}},
		tests{in: "pool", run: "Take|Exclusion"},
	},
	{
		"stays", "Shrink takes nobody out of a pool",
		edits{{
			"internal/scripts/pool_change.lua",
			"    n = call('ZREM', KEYS[1], ARGV[i])",
			"    n = 1",
		}},
		tests{in: "pool", run: "Members"},
	},
	{
		"headless", "who moves up in the queue does not ask",
		edits{{"signal/waiter.go", "	} else if head {\n", "	} else if head && false {\n"}},
		tests{in: "signal", run: "FirstCome"},
	},
	{
		"no timer", "waiters do not look when the holder's time is up",
		edits{{
			"signal/expiry.go",
			"	e.expires = time.Time{}\n	e.askLocked()\n",
			"	e.expires = time.Time{}\n",
		}},
		tests{in: "signal", run: "."},
	},
	{
		"old look", "a wait connection ends its read to look",
		edits{{
			"signal/turn.go",
			"	blockFor = 30 * time.Second\n",
			"	blockFor = 900 * time.Millisecond\n",
		}},
		tests{in: "signal", run: "DoNotCostThePlace"},
	},
	{
		"no look", "nobody looks",
		edits{{"signal/look.go", "			w.look(w.plan(true), true)\n", ""}},
		tests{in: "signal", run: "HalfOpen"},
	},
	{
		"newcomers", "newcomers share the connection of those who have settled",
		edits{{"signal/place.go", " || young.settledLocked(e, now) {", " {"}},
		tests{in: "signal", run: "DoesNotCostThePlace|DoNotCostThePlace"},
	},
	{
		"one by one", "one signal is read per round trip",
		edits{{"internal/store/blocking.go", "	if len(names) > 1 {", "	if false {"}},
		tests{in: "internal/testing/faults", run: "FaultReleasedTogether"},
	},
	{
		"hung dial", "a dial that hangs outlives its waiters",
		edits{{"signal/turn.go", "	defer r.dialer.Hangup()\n", ""}},
		tests{in: "signal", run: "DialIsHungUp"},
	},
	{
		"endless", "MaxHold is ignored",
		edits{{"renewal/config.go", "		latest = c.Sent.add(c.MaxHold)\n", "		latest = never\n"}},
		tests{in: "renewal", run: "AddAfterMaxHold"},
	},
	{
		"expiring", "a lease without expiry ends with the time it had at first",
		edits{{"renewal/deadline.go", "	if !t.noExpiry {\n", "	if true {\n"}},
		tests{in: "renewal", run: "Permanent"},
	},
	{
		"asleep", "the time that a machine sleeps does not count",
		edits{{
			"renewal/instant.go",
			"	return min(i.mono.Sub(now.mono), i.wall-now.wall)",
			"	return i.mono.Sub(now.mono)",
		}},
		tests{in: "renewal", run: "Instants"},
	},
	{
		"late seize", "a Seize takes the lock from whoever holds it by then",
		edits{{
			"internal/scripts/acquire.lua",
			"if owner ~= must and not again then",
			"if owner ~= must and not again and not must then",
		}},
		tests{in: "internal/testing/faults", run: "SeizeExecutedLate"},
	},
	{
		"late reset", "a Reset takes the lock from whoever holds it by then",
		edits{{
			"internal/scripts/reset.lua",
			"if not owner or value ~= ARGV[2] then",
			"if not owner then",
		}},
		tests{in: "internal/testing/faults", run: "ResetExecutedLate"},
	},
}
