package main

// later are more of them, found by attacks and reviews.
var later = []mutant{
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
