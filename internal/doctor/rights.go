package doctor

import (
	"strings"

	"github.com/holdfast-go/holdfast/internal/store"
)

// A right is what a user must be allowed, in the words of Redis's access control. These are what an
// operator can type.
type right struct {
	rule    string // "+get"; of a key pattern without its prefix: "~lock:*"
	without Level  // how bad it is to be without
	loss    string // what does not work then
}

// lessWaking is what is lost with a command that gives signals. Who sleeps on are the waiters of
// other programs.
const lessWaking = "a release wakes nobody: holdfast's waiters look once a second, others sleep on"

// neededRights are all rights that locks have a use for. docs/operating.md has the same, and tests
// take each of them away.
//
// A right is a Problem to be without if a lock cannot be taken, kept, released or waited for, or if
// a guarantee goes. It is Advice if holdfast does without.
var neededRights = []right{
	// Keys. Scripts name them, so that a script is refused as a whole without one of them.
	{"~" + store.KindLock + "*", Problem, "no lock can be taken"},
	{"~" + store.KindSignal + "*", Problem, "no lock can be released"},
	{"~" + store.KindFence + "*", Problem, "no lock can be taken, except with NoFence"},
	{"~" + store.KindInbox + "*", Problem, "waiting fails"},
	{"~" + store.KindWaiting + "*", Problem, "waiting fails"},
	// Scripts. They go by their names, and by their text when Redis does not know those.
	{"+eval", Problem, "nothing works once Redis has lost the scripts, as by a restart"},
	{"+evalsha", Problem, "nothing works"},
	// What scripts execute, without which something essential is missing.
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
	// What holdfast does without, at a price.
	{"+blpop", Advice, "waiters are not woken: they look once a second, and at the expiry"},
	{"+hset", Advice, "nobody sees who waits"},
	{"+persist", Advice, "NoExpiry locks expire"},
	{"+scan", Advice, "List and ResetAll fail"},
	{"+hgetall", Advice, "List fails"},
	{"+client|setname", Advice, "CLIENT LIST does not tell holdfast's connections"},
}

// uses are the commands that scripts send to the keys of each kind. The others that are tried there
// may be refused without harm.
var uses = map[string][]string{
	store.KindLock:    {"GET", "PTTL", "TYPE", "EXISTS", "SET", "PEXPIRE", "DEL"},
	store.KindSignal:  {"LLEN", "LPUSH", "LREM", "PEXPIRE"},
	store.KindFence:   {"GET", "SET"},
	store.KindInbox:   {"LPUSH", "PEXPIRE"},
	store.KindWaiting: {"TYPE", "DEL", "HSET", "PEXPIRE"},
}

// rights returns a finding for each right. It names the right as a rule that can be added to the
// user's, with the client's own prefix and format in it.
func (x *examination) rights(keys store.Keyspace) []Finding {
	findings := make([]Finding, 0, len(neededRights))
	for _, r := range neededRights {
		has, why := x.verdict(r.rule)
		// The table has the kinds of keys. What is to be added to a user's rules has the whole
		// pattern.
		if kind, ok := strings.CutPrefix(r.rule, "~"); ok {
			r.rule = "~" + keys.Pattern(strings.TrimSuffix(kind, "*"))
		}
		f := Finding{Subject: "right " + r.rule}
		switch has {
		case store.Present:
			f.Level, f.Text = OK, "present"
		case store.Missing: // the rule is the remedy
			f.Level, f.Text, f.Remedy = r.without, "missing: "+r.loss, "add "+r.rule+" to the user's rules"
			if store.UnknownCommand(why) { // no rule brings it
				f.Text, f.Remedy = "Redis does not know it: "+r.loss, "do not rename or disable it"
			}
		default:
			// A server that refuses everything for now refuses these, too: the finding about its
			// state says why.
			f.Level, f.Text = Unknown, short(why)
			if x.refusal() != nil {
				f.Text = "not tried: " + seeState
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// verdict says whether the user has a right, and why not. Some commands were sent by
// themselves. All others were tried by the probe script.
func (x *examination) verdict(rule string) (store.Verdict, string) {
	switch rule {
	case "+eval":
		return verdictOf(x.facts.Eval)
	case "+evalsha":
		return verdictOf(x.facts.EvalSHA)
	case "+scan":
		return verdictOf(x.facts.Scan)
	case "+time": // a right does not change from one sample to the next
		return verdictOf(x.times[0].Refused)
	case "+client|setname":
		return verdictOf(x.named)
	case "+blpop":
		if !x.waited { // no key of those that it reads was allowed
			return store.Undecided, x.untried()
		}
		return verdictOf(x.popped)
	}
	if kind, ok := strings.CutPrefix(rule, "~"); ok {
		return x.keys(strings.TrimSuffix(kind, "*"))
	}
	return x.command(strings.ToUpper(strings.TrimPrefix(rule, "+")))
}

// verdictOf judges a command that was sent by itself, by how it was refused. The text is empty only
// if the user has the right.
func verdictOf(err error) (store.Verdict, string) {
	v := store.Judge(err)
	if v == store.Present {
		return v, ""
	}
	return v, err.Error()
}

// untried says why a command was tried on no key: scripts may not be run, or may name none of the
// keys. A script that Redis does not know is one that could not be brought, for which it takes
// EVAL.
func (x *examination) untried() string {
	if x.probed == nil || store.NoScript(x.probed[store.KindLock].Err) {
		return noEval
	}
	return noKeys
}

// command judges a command by what came of it on any key: it is there if it worked on one. If it
// worked on none, a refusal for want of a right says more than one for another reason, wherever
// either came.
func (x *examination) command(name string) (store.Verdict, string) {
	worst, why := store.Undecided, x.untried()
	for _, kind := range store.Kinds {
		said, tried := x.tried(kind, name)
		switch v := store.JudgeText(said); {
		case !tried: // the keys of this kind were refused as a whole
		case v == store.Present:
			return store.Present, ""
		case v == store.Missing || worst == store.Undecided:
			worst, why = v, said
		}
	}
	return worst, why
}

// keys judges the keys of a kind: whether scripts may name them.
//
// Rights can differ from key to key. So it also judges whether commands work there as they do
// elsewhere, of those that scripts send to these keys. A command that works nowhere has a finding
// of its own, and is not held against the keys.
func (x *examination) keys(kind string) (store.Verdict, string) {
	if x.probed == nil { // scripts may not be run at all
		return store.Undecided, noEval
	}
	if err := x.probed[kind].Err; err != nil {
		return verdictOf(err)
	}
	for _, name := range uses[kind] {
		said, _ := x.tried(kind, name)
		if v, _ := x.command(name); v == store.Present && store.JudgeText(said) == store.Missing {
			return store.Missing, said
		}
	}
	return store.Present, ""
}

// tried returns what Redis said to a command on a key of a kind: "" if it worked.
func (x *examination) tried(kind, name string) (said string, tried bool) {
	said, tried = x.probed[kind].Refusals[name]
	return said, tried
}
