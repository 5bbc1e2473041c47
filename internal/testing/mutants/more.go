package main

// others are ways in which this library was broken once, or could be.
var others = []mutant{
	{
		"no kill", "what a predecessor left under way is not ended", "internal/redisconn/orphans.go",
		"	if len(victims) == 0 {", "	if true {",
		"Orphan|Ghost|Predecessor", "internal/redisconn", nil,
	},
	{
		"dial dropped", "a dial is given up with who waited for it", "internal/redisconn/port.go",
		"	case <-t.C:\n", "	case <-t.C:\n		p.Hangup()\n",
		"Slow", "internal/redisconn", nil,
	},
	{
		"fresh sacrificed", "too little time costs a new connection", "internal/redisconn/call.go",
		"|| left < needs && left < had/2", "",
		"FreshConnection", "internal/redisconn", nil,
	},
	{
		"storm", "dials without a pause", "internal/redisconn/pace.go",
		"	if p.pause == 0 {\n		return 0, nil", "	if true {\n		return 0, nil",
		"Storm", "internal/redisconn", nil,
	},
	{
		"neighbour", "a call is cut by the time of one before it", "internal/redisconn/drive.go",
		"		if flight[0].by != armed {", "		if false {",
		"AnsweredNeighbour", "internal/redisconn", nil,
	},
	{
		"acquired twice", "acquire without looking who holds", "internal/scripts/acquire.lua",
		"local owner, pttl = call('GET', KEYS[1]), nil", "local owner, pttl = false, nil",
		"Acquire", "internal/scripts", nil,
	},
	{
		"replica", "a demoted master says that a lock is lost", "internal/scripts/extend.lua",
		"  local wrote = call('LREM', KEYS[2], 0, '')", "  local wrote = 0",
		"Replica", "internal/scripts", nil,
	},
	{
		"same id", "an older lease of the same id goes on", "lock/redis_hold.go",
		"	if e.fence != 0 {", "	if false {",
		"GivenIDTwice", "lock", nil,
	},
	{
		"kept", "HoldAtLeast frees the lock", "lock/unlock.go",
		"held && time.Until(keep) > 0", "false && time.Until(keep) > 0",
		"HoldAtLeast", "lock", nil,
	},
	{
		"for ever", "a lock without expiry is not given back", "lock/lease.go",
		"		h.client.janitor.expire(h.ref(false))\n", "",
		"NoExpiry", "lock", nil,
	},
	{
		"orphan", "a cancelled acquire is not cleaned up", "lock/attempt.go",
		"	a.mutex.client.janitor.release(a.inDoubt(), time.Now(), a.until, a.gaveUp)\n", "",
		"FaultAcquireRepliesLost", "lock", nil,
	},
	{
		"shrunk", "what left a pool is given out", "internal/scripts/acquire_any.lua",
		"    local got = score and take(i)", "    local got = take(i)",
		"Shrink", "pool", nil,
	},
	{
		"gate", "a gate lets older tokens pass", "register/gate.go",
		"setting(LessOrEqual, Int(token), Int(token)", "setting(NotEqual, Int(token), Int(token)",
		"Gate", "register", nil,
	},
	{
		"set if", "a register compares the wrong way", "internal/scripts/register.lua",
		"    relation = '<'", "    relation = '>'",
		"Comparisons", "register", nil,
	},
	{
		"computed twice", "who waited for the lock does not look again", "once/cache.go",
		"	case !ok:\n		value, err = c.compute(", "	case !ok || true:\n		value, err = c.compute(",
		".", "once", nil,
	},
	{
		"stuck", "a computation that fails lets nobody try again", "once/queue.go",
		"		<-q.turn\n", "",
		".", "once", nil,
	},
	{
		"alone", "each client of an embedded server has its own", "embedded/embedded.go",
		"return lock.New(s.Pool(), o)", "return lock.New(New().Pool(), o)",
		".", "embedded", nil,
	},
	{
		"no clock", "nothing expires in an embedded server", "internal/inmemory/server.go",
		"	m.ClockTTL(true)\n", "",
		"NoTwoImports", "locktest", nil,
	},
	{
		"member", "a pool gives a member that is held", "internal/scripts/acquire_any.lua",
		"  if left[i] == -2 then", "  if left[i] then",
		"Take|Exclusion", "pool", nil,
	},
	{
		"stays", "Shrink takes nobody out of a pool", "internal/scripts/pool_change.lua",
		"    n = call('ZREM', KEYS[1], ARGV[i])", "    n = 1",
		"Members", "pool", nil,
	},
	{
		"headless", "who moves up in the queue does not ask", "signal/waiter.go",
		"	} else if head {\n", "	} else if false {\n",
		"FirstCome", "signal", nil,
	},
	{
		"no timer", "waiters do not look when the holder's time is up", "signal/waiter.go",
		"	e.expires = time.Time{}\n	e.askLocked()\n", "	e.expires = time.Time{}\n",
		".", "signal", nil,
	},
	{
		"old look", "a wait connection ends its read to look", "signal/conn.go",
		"	blockFor = 30 * time.Second\n", "	blockFor = 900 * time.Millisecond\n",
		"DoNotCostThePlace", "signal", nil,
	},
	{
		"no look", "nobody looks", "signal/look.go",
		"			c.look(c.plan(true), true)\n", "",
		"HalfOpen", "signal", nil,
	},
	{
		"newcomers", "newcomers share the connection of those who have settled", "signal/place.go",
		" || young.settledLocked(e, now) {", " {",
		"DoesNotCostThePlace|DoNotCostThePlace", "signal", nil,
	},
	{
		"one by one", "one signal is read per round trip", "lock/redis_wait.go",
		"	if len(names) > 1 {", "	if false {",
		"FaultReleasedTogether", "lock", nil,
	},
	{
		"hung dial", "a dial that hangs outlives its waiters", "signal/conn.go",
		"	defer c.dialer.Hangup()\n", "",
		"DialIsHungUp", "signal", nil,
	},
	{
		"endless", "MaxHold is ignored", "renewal/term.go",
		"		latest = c.Sent.add(c.MaxHold)\n", "		latest = never\n",
		"AddAfterMaxHold", "renewal", nil,
	},
	{
		"expiring", "a lease without expiry ends with the time it had at first", "renewal/retime.go",
		"	if !t.noExpiry {\n", "	if true {\n",
		"Permanent", "renewal", nil,
	},
	{
		"asleep", "the time that a machine sleeps does not count", "renewal/instant.go",
		"	return min(i.mono.Sub(now.mono), i.wall-now.wall)", "	return i.mono.Sub(now.mono)",
		"Instants", "renewal", nil,
	},
	{
		"late seize", "a Seize takes the lock from whoever holds it by then", "internal/scripts/acquire.lua",
		"if owner ~= must and not again then", "if owner ~= must and not again and not must then",
		"SeizeExecutedLate", "lock", nil,
	},
	{
		"late reset", "a Reset takes the lock from whoever holds it by then", "internal/scripts/reset.lua",
		"if not owner or string.sub(owner, 1, 1025) ~= ARGV[2] then", "if not owner then",
		"ResetExecutedLate", "lock", nil,
	},
	{
		"kept id", "the clean-up of a repeated acquire goes by the id alone", "lock/unlock.go",
		"if a.err == nil && a.found != handedOn {", "if true {",
		"AdoptedWhileOvertaken", "lock", nil,
	},
	{
		"foreign", "ResetAll and List touch keys that are no locks", "lock/reset.go",
		"ours := (c.store.apart() || o.ours()) && !c.store.collides(names[i])", "ours := true",
		"KeyFormatAndOtherKeys", "lock", nil,
	},
	{
		"format", "KeyFormat is ignored", "lock/redis.go",
		"{ return k.prefix + k.before + name + k.after }", "{ return k.prefix + defaultBefore + name }",
		"KeyFormat", "lock", nil,
	},
	{
		"minimum", "no signal comes when HoldAtLeast is over", "lock/janitor_ends.go",
		"	if ref.keep.IsZero() {\n", "	if true {\n",
		"HoldAtLeastSignals", "lock", nil,
	},
	{
		"wrong server", "Lock waits on a replica, or on another node, from the first call on", "lock/redis.go",
		"	return wrong && !s.answered.Load()", "	return wrong && false",
		"FaultWrongServer$", "lock", nil,
	},
	{
		"failover", "Lock gives up at a failover", "lock/redis.go",
		"	return wrong && !s.answered.Load()", "	return wrong",
		"FaultWrongServerLater", "lock", nil,
	},
	{
		"flood", "trouble is told each time", "lock/pace.go",
		"	if now.Before(k.next) {", "	if false {",
		"TroubleIsTold", "lock", nil,
	},
	{
		"base64", "what stands before a slash of another program's id is shown", "internal/owner/id.go",
		"strings.LastIndexByte(id, '#')", "strings.LastIndexByte(id, '/')",
		"IDsWithoutALabel", "lock", nil,
	},
	{
		"block", "no signal comes at the end of a Block", "lock/force.go",
		"			c.janitor.forgetBlocks(name)\n			c.janitor.blockEnds(ref)\n",
		"			c.janitor.forgetBlocks(name)\n",
		"BlockSignals", "lock", nil,
	},
	{
		"server's clock", "the end of a Block is signalled by the client's clock alone", "lock/janitor_ends.go",
		"		if left[i] > 0 {", "		if false {",
		"BlockSignals", "lock", nil,
	},
	{
		"another's block", "Block changes what another client blocks", "lock/force.go",
		"!c.janitor.blocks(name, held.owner) ||", "",
		"BlockOfAnother", "lock", nil,
	},
	{
		"free reset", "a Reset of a free lock gives no signal", "internal/scripts/reset.lua",
		"if not owner and signals == 0 then", "if false then",
		"ResetOfAFreeLock", "lock", nil,
	},
	{
		"short memory", "the fencing token is kept for a week, however long the lease is", "lock/redis_hold.go",
		"max(leastFenceTTL, 2*a.ttl, 2*a.atLeast)", "leastFenceTTL",
		"Contract/process", "lock", nil,
	},
	{
		"again", "what an acquire may take late is left, once another one was sent", "lock/attempt.go",
		"	a.mutex.client.janitor.release(a.inDoubt(), due, a.until, a.gaveUp)\n", "	_ = due\n",
		"RepeatTakesAnother", "pool", nil,
	},
	{
		"overtaken", "what a repeated acquire may take late is left", "lock/unlock.go",
		"	return h.twice && now.Sub(h.since) < lateLimit", "	return false",
		"LateAfterUnlock", "lock", nil,
	},
	{
		"cut", "an Extend does not wait for a cut of the key's TTL", "lock/cut.go",
		"	for c.phase == cutUnderWay {", "	for false {",
		"Cutter", "lock", nil,
	},
	{
		"doubt", "a cut of the key's TTL without a reply is forgotten", "lock/cut.go",
		"	if sent(err) {\n		c.doubt", "	if false {\n		c.doubt",
		"Cutter", "lock", nil,
	},
	{
		"too deep", "a cut leaves less than an ExtendBy under way asks for", "lock/cut.go",
		"	ttl = c.longestLocked()", "	ttl = c.longest",
		"Cutter", "lock", nil,
	},
	{
		"centuries", "a PTTL of centuries is believed", "lock/redis.go",
		"	return min(ms, maxPTTL), ok", "	return ms, ok",
		"HeldForCenturies", "lock", nil,
	},
	{
		"behind", "the timers are not set anew when the wall clock has run ahead", "renewal/tick.go",
		"			t.timeLocked(now)\n", "",
		"WallClock", "renewal", nil,
	},
	{
		"late visits", "nobody comes back for what is executed later than an operation limit", "lock/late.go",
		"operationLimit, 6 * time.Second, 14 * time.Second, 30 * time.Second, time.Minute, lateLimit,", "operationLimit,",
		"LateVisits", "lock", nil,
	},
	{
		"block again", "what a repeated Block may take late is left, after a Reset", "lock/force.go",
		"			if repeated && a.must == \"\" {\n", "			if repeated && false {\n",
		"BlockExecutedLateAfter", "lock", nil,
	},
	{
		"tail kill", "what a connection that was given up has left under way is not ended", "internal/redisconn/orphans.go",
		"	if len(victims) == 0 {\n", "	if len(victims) >= 0 {\n",
		"Sim", "internal/testing/sim",
		[]string{"-seed", "1646"},
	},
	{
		"tail reset", "a connection with calls in flight is closed, not reset", "internal/redisconn/tap.go",
		"		_ = s.SetLinger(0)\n", "		_ = s\n",
		"Sim", "internal/testing/sim",
		[]string{"-seed", "1041"},
	},
	{
		"visits again", "a lock without expiry gets its whole time at every late visit", "lock/janitor.go",
		"			left[i] = max(noExpiryTTL-time.Since(t.answered), time.Millisecond)\n", "",
		"LateVisitsOfALock", "lock", nil,
	},
	{
		"handing", "a lease is handed out that Close has ended", "lock/handing.go",
		"func (d *handing) handOut() bool { return d.decided.CompareAndSwap(0, handedOut) }",
		"func (d *handing) handOut() bool { return true }",
		"CloseBefore", "lock", nil,
	},
	{
		"not sent", "a repeat that was not sent hides the first attempt", "lock/errors.go",
		"	if err != nil && sent(first) && !sent(err) {", "	if false {",
		"RepeatNotSent", "lock", nil,
	},
	{
		"untold", "a lease does not keep its contexts", "lock/lease.go",
		"	h.contexts[e] = struct{}{}\n", "",
		"ContextEnds", "lock", nil,
	},
	{
		"look", "an idle connection is not looked at", "internal/redisconn/look.go",
		"	return w.look()\n}", "	return nil\n}",
		"IdleConnections", "internal/redisconn", nil,
	},
	{
		"surplus", "a reply too many is left for the next call", "internal/redisconn/look.go",
		"w != nil && w.surplus()", "w != nil && false",
		"SurplusReply", "internal/redisconn", nil,
	},
	{
		"fits", "whatever is replied is an answer", "internal/redisconn/link.go",
		"return c.Fits == nil || c.Fits(c.Args, reply)", "return true",
		"WrongReply", "internal/redisconn", nil,
	},
	{
		"reset", "a connection with calls under way is closed in order", "internal/redisconn/link.go",
		"w != nil && k.inFlight.Load()", "w != nil && false",
		"LinkCloses", "internal/redisconn", nil,
	},
	{
		"counter", "fencing tokens do not look at the server's time", "internal/scripts/acquire.lua",
		"    token = now[1] .. string.sub('00000' .. now[2], -6)", "    token = '1'",
		"Sim", "internal/testing/sim",
		[]string{"-seed", "8"},
	},
}
