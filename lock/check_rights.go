package lock

import (
	"slices"
	"strings"
)

// A right is what a user must be allowed, in the words of Redis's access control.
type right struct {
	rule    string // "+get"; of a key pattern without its prefix: "~lock:*"
	without Level  // how bad it is to be without
	loss    string // what does not work then
}

const lessWaking = "a release wakes nobody: holdfast's waiters look once a second, others sleep on"

// neededRights are all rights that this package has a use for. docs/operating.md has the same, and
// tests take each of them away.
var neededRights = []right{
	{"~" + kindLock + "*", Problem, "no lock can be taken"},
	{"~" + kindSignal + "*", Problem, "no lock can be released"},
	{"~" + kindFence + "*", Problem, "no lock can be taken, except with NoFence"},
	{"~" + kindInbox + "*", Problem, "waiting fails"},
	{"~" + kindWaiting + "*", Problem, "waiting fails"},
	{"+eval", Problem, "nothing works once Redis has lost the scripts, as by a restart"},
	{"+evalsha", Problem, "nothing works"},
	{"+get", Problem, "no lock can be taken"},
	{"+set", Problem, "no lock can be taken"},
	{"+time", Problem, "no lock can be taken, except with NoFence"},
	{"+del", Problem, "no lock can be released"},
	{"+pexpire", Problem, "no lease can be renewed"},
	{"+pttl", Problem, "waiting fails"},
	{"+type", Problem, "waiting fails"},
	{"+lrem", Problem, "the end of a lost lease is not told from an error"},
	{"+llen", Problem, lessWaking},
	{"+lpush", Problem, lessWaking},
	{"+exists", Problem, "a signal that its reader cannot use is lost: others look once a second"},
	{"+blpop", Advice, "waiters are not woken: they look once a second, and at the expiry"},
	{"+hset", Advice, "nobody sees who waits"},
	{"+persist", Advice, "NoExpiry locks expire"},
	{"+scan", Advice, "List and ResetAll fail"},
	{"+hgetall", Advice, "List fails"},
	{"+client|setname", Advice, "CLIENT LIST does not tell holdfast's connections"},
}

// uses are the commands that scripts send to the keys of each kind.
var uses = map[string][]string{
	kindLock:    {"GET", "PTTL", "TYPE", "EXISTS", "SET", "PEXPIRE", "DEL"},
	kindSignal:  {"LLEN", "LPUSH", "LREM", "PEXPIRE"},
	kindFence:   {"GET", "SET"},
	kindInbox:   {"LPUSH", "PEXPIRE"},
	kindWaiting: {"TYPE", "DEL", "HSET", "PEXPIRE"},
}

// rights returns a finding for each right.
func (x *examination) rights(keys keyspace) []Finding {
	findings := make([]Finding, 0, len(neededRights))
	for _, r := range neededRights {
		verdict, why := x.verdict(r.rule)
		if kind, ok := strings.CutPrefix(r.rule, "~"); ok {
			r.rule = "~" + keys.pattern(strings.TrimSuffix(kind, "*"))
		}
		f := Finding{Subject: "right " + r.rule}
		switch verdict {
		case present:
			f.Text = "present"
		case missing:
			f.Level, f.Text, f.Remedy = r.without, "missing: "+r.loss, "add "+r.rule+" to the user's rules"
			if unknownCommand(why) {
				f.Text, f.Remedy = "Redis does not know it: "+r.loss, "do not rename or disable it"
			}
		default:
			f.Level, f.Text = Unknown, short(why)
			if x.refusal() != nil {
				f.Text = "not tried: " + seeState
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// verdict says whether the user has a right, and why not.
func (x *examination) verdict(rule string) (verdict, string) {
	switch rule {
	case "+eval":
		return verdictOf(x.asked.eval)
	case "+evalsha":
		return verdictOf(x.asked.evalsha)
	case "+scan":
		return verdictOf(x.asked.scan)
	case "+time":
		return verdictOf(x.times[0].refused)
	case "+client|setname":
		return verdictOf(x.named)
	case "+blpop":
		if !x.waited {
			return undecided, x.untried()
		}
		return verdictOf(x.popped)
	}
	if kind, ok := strings.CutPrefix(rule, "~"); ok {
		return x.keys(strings.TrimSuffix(kind, "*"))
	}
	return x.command(strings.ToUpper(strings.TrimPrefix(rule, "+")))
}

// verdictOf judges the reply to a command that was sent by itself.
func verdictOf(reply any) (verdict, string) {
	v := judge(reply)
	if v == present {
		return v, ""
	}
	return v, replyError(reply).Error()
}

// untried says why a command was tried on no key.
func (x *examination) untried() string {
	if x.probed == nil || noScript(x.probed[kindLock]) {
		return noEval
	}
	return noKeys
}

// command judges a command by what came of it on any key: it is there if it worked on one.
func (x *examination) command(name string) (verdict, string) {
	worst, why := undecided, x.untried()
	for _, kind := range kinds {
		text, tried := x.tried(kind, name)
		switch v := judgeText(text); {
		case !tried:
		case v == present:
			return present, ""
		case v == missing || worst == undecided:
			worst, why = v, text
		}
	}
	return worst, why
}

// keys judges the keys of a kind: whether scripts may name them and, for users whose rights differ
// from key to key, whether the commands that they send to them work there as they do elsewhere.
func (x *examination) keys(kind string) (verdict, string) {
	if x.probed == nil {
		return undecided, noEval
	}
	if err := replyError(x.probed[kind]); err != nil {
		return verdictOf(err)
	}
	for _, name := range uses[kind] {
		text, _ := x.tried(kind, name)
		if v, _ := x.command(name); v == present && judgeText(text) == missing {
			return missing, text
		}
	}
	return present, ""
}

// tried returns what came of trying a command on a key of a kind: "ok" or an error.
func (x *examination) tried(kind, name string) (string, bool) {
	parts, ok := x.probed[kind].([]any)
	if !ok {
		return "", false
	}
	text, ok := parts[slices.Index(tries, name)].([]byte)
	return string(text), ok
}

// judgeText is judge for an answer of the probe script.
func judgeText(text string) verdict {
	switch {
	case text == "ok":
		return present
	case denied(text), unknownCommand(text):
		return missing
	}
	return undecided
}
