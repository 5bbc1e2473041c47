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
	{
		"kept id", "the clean-up of a repeated acquire goes by the id alone",
		edits{{
			"internal/engine/release.go",
			"if a.err == nil && a.found != store.HandedOn {",
			"if true {",
		}},
		tests{in: "internal/testing/faults", run: "AdoptedWhileOvertaken"},
	},
	{
		"foreign", "ResetAll and List touch keys that are no locks",
		edits{{
			"lock/reset.go",
			"ours := (c.store.Apart() || o.ours()) && !c.store.Collides(names[i])",
			"ours := true",
		}},
		tests{in: "lock", run: "KeyFormatAndOtherKeys"},
	},
	{
		"format", "KeyFormat is ignored",
		edits{{
			"internal/store/keys.go",
			"{ return k.Prefix + k.before + name + k.after }",
			"{ return k.Prefix + KindLock + name }",
		}},
		tests{in: "lock", run: "KeyFormat"},
	},
	{
		"minimum", "no signal comes when HoldAtLeast is over",
		edits{{"internal/janitor/janitor.go", "	if !t.Keep.IsZero() {\n", "	if false {\n"}},
		tests{in: "lock", run: "HoldAtLeastSignals"},
	},
	{
		"wrong server", "Lock waits on a replica, or on another node, from the first call on",
		edits{{"internal/store/store.go", "	return wrong && !s.answered.Load()", "	return wrong && false"}},
		tests{in: "internal/testing/faults", run: "FaultWrongServer$"},
	},
	{
		"failover", "Lock gives up at a failover",
		edits{{"internal/store/store.go", "	return wrong && !s.answered.Load()", "	return wrong"}},
		tests{in: "internal/testing/faults", run: "FaultWrongServerLater"},
	},
	{
		"flood", "trouble is told each time",
		edits{{"internal/engine/pace.go", "	if now.Before(k.next) {", "	if false {"}},
		tests{in: "lock", run: "TroubleIsTold"},
	},
	{
		"base64", "what stands before a slash of another program's id is shown",
		edits{{
			"internal/owner/id.go",
			"strings.LastIndexByte(id, '#')",
			"strings.LastIndexByte(id, '/')",
		}},
		tests{in: "lock", run: "IDsWithoutALabel"},
	},
	{
		"block", "no signal comes at the end of a Block",
		edits{{
			"internal/engine/block.go",
			"	b.engine.janitor.ForgetBlocks(b.name)\n	b.signalAtEnd()\n",
			"	b.engine.janitor.ForgetBlocks(b.name)\n",
		}},
		tests{in: "lock", run: "BlockSignals"},
	},
	{
		"server's clock", "the end of a Block is signalled by the client's clock alone",
		edits{{"internal/janitor/janitor.go", "		if left[i] > 0 {", "		if false {"}},
		tests{in: "lock", run: "BlockSignals"},
	},
	{
		"another's block", "Block changes what another client blocks",
		edits{{"internal/engine/block.go", "!e.janitor.Blocks(name, held.Owner) ||", ""}},
		tests{in: "lock", run: "BlockOfAnother"},
	},
	{
		"free reset", "a Reset of a free lock gives no signal",
		edits{{"internal/scripts/reset.lua", "if not owner and signals == 0 then", "if false then"}},
		tests{in: "lock", run: "ResetOfAFreeLock"},
	},
	{
		"short memory", "the fencing token is kept for a week, however long the lease is",
		edits{{"internal/store/acquire.go", "max(leastFence, 2*ttl, 2*atLeast)", "leastFence"}},
		tests{in: "lock", run: "Contract/process"},
	},
	{
		"again", "what an acquire may take late is left, once another one was sent",
		edits{{
			"internal/engine/attempt.go",
			"{ a.lost.cleanUp(a.engine.janitor, time.Now().Add(store.OperationLimit)) }",
			"{ a.lost.settled() }",
		}},
		tests{in: "pool", run: "RepeatTakesAnother"},
	},
	{
		"overtaken", "what a repeated acquire may take late is left",
		edits{{"internal/engine/lease.go", "	return l.repeated && now.Sub(l.since) < janitor.LateLimit", "	return false"}},
		tests{in: "internal/testing/faults", run: "LateAfterUnlock"},
	},
	{
		"cut", "an Extend does not wait for a cut of the key's TTL",
		edits{{"internal/engine/cut.go", "	for c.phase == cutUnderWay {", "	for false {"}},
		tests{in: "internal/engine", run: "Cutter"},
	},
	{
		"doubt", "a cut of the key's TTL without a reply is forgotten",
		edits{{"internal/engine/cut.go", "	if store.Sent(err) {", "	if store.Sent(err) && false {"}},
		tests{in: "internal/engine", run: "Cutter"},
	},
	{
		"too deep", "a cut leaves less than an ExtendBy under way asks for",
		edits{{"internal/engine/cut.go", "	ttl = c.longestLocked()", "	ttl = c.longest"}},
		tests{in: "internal/engine", run: "Cutter"},
	},
	{
		"centuries", "a PTTL of centuries is believed",
		edits{{"internal/store/time.go", "min(ms, int64(maxTTL/time.Millisecond))", "ms"}},
		tests{in: "internal/testing/faults", run: "HeldForCenturies"},
	},
	{
		"behind", "the timers are not set anew when the wall clock has run ahead",
		edits{{"renewal/tick.go", "			t.timeLocked(now)\n", ""}},
		tests{in: "renewal", run: "WallClock"},
	},
	{
		"late visits", "nobody comes back for what is executed later than an operation limit",
		edits{{
			"internal/janitor/task.go",
			"store.OperationLimit, 6 * time.Second, 14 * time.Second, 30 * time.Second, time.Minute, LateLimit,",
			"store.OperationLimit,",
		}},
		tests{in: "internal/engine", run: "LateVisits"},
	},
	{
		"block again", "what a repeated Block may take late is left, after a Reset",
		edits{{"internal/engine/block.go", "	if b.repeated && b.from == \"\" {\n", "	if b.repeated && false {\n"}},
		tests{in: "internal/testing/faults", run: "BlockExecutedLateAfter"},
	},
	{
		"tail kill", "what a connection that was given up has left under way is not ended",
		edits{{
			"internal/redisconn/greeting.go",
			"	if len(victims) == 0 {\n",
			"	if len(victims) >= 0 {\n",
		}},
		tests{in: "internal/testing/sim", run: "Sim", args: []string{"-seed", "1646"}},
	},
	{
		"tail reset", "a connection with calls in flight is closed, not reset",
		edits{{"internal/redisconn/tap.go", "		_ = s.SetLinger(0)\n", "		_ = s\n"}},
		tests{in: "internal/testing/sim", run: "Sim", args: []string{"-seed", "1041"}},
	},
	{
		"visits again", "a lock without expiry gets its whole time at every late visit",
		edits{{
			"internal/janitor/task.go",
			"	return max(LetExpire-time.Since(t.answered), time.Millisecond)\n",
			"	return LetExpire\n",
		}},
		tests{in: "internal/engine", run: "LateVisitsOfALock"},
	},
	{
		"handing", "a lease is handed out that Close has ended",
		edits{{
			"internal/engine/handing.go",
			"func (d *handing) handOut() bool { return d.decided.CompareAndSwap(0, handedOut) }",
			"func (d *handing) handOut() bool { return true }",
		}},
		tests{in: "lock", run: "CloseBefore"},
	},
	{
		"not sent", "a repeat that was not sent hides the first attempt",
		edits{{"internal/store/errors.go", "	if err != nil && Sent(first) && !Sent(err) {", "	if false {"}},
		tests{in: "internal/testing/faults", run: "RepeatNotSent"},
	},
	{
		"untold", "a lease does not keep its contexts",
		edits{{"internal/engine/contexts.go", "	c.live[e] = struct{}{}\n", ""}},
		tests{in: "lock", run: "ContextEnds"},
	},
	{
		"look", "an idle connection is not looked at",
		edits{{"internal/redisconn/idle.go", "	return w.look()\n}", "	return nil\n}"}},
		tests{in: "internal/redisconn", run: "IdleConnections"},
	},
	{
		"surplus", "a reply too many is left for the next call",
		edits{{"internal/redisconn/idle.go", "w != nil && w.surplus()", "w != nil && false"}},
		tests{in: "internal/redisconn", run: "SurplusReply"},
	},
	{
		"fits", "whatever is replied is an answer",
		edits{{
			"internal/redisconn/command.go",
			"return c.Fits == nil || c.Fits(c.Args, reply)",
			"return true",
		}},
		tests{in: "internal/redisconn", run: "WrongReply"},
	},
	{
		"reset", "a connection with calls under way is closed in order",
		edits{{"internal/redisconn/link.go", "w != nil && k.inFlight.Load()", "w != nil && false"}},
		tests{in: "internal/redisconn", run: "LinkCloses"},
	},
	{
		"counter", "fencing tokens do not look at the server's time",
		edits{{
			"internal/scripts/acquire.lua",
			"    token = now[1] .. string.sub('00000' .. now[2], -6)",
			"    token = '1'",
		}},
		tests{in: "internal/testing/sim", run: "Sim", args: []string{"-seed", "8"}},
	},
}
