package doctor

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/store"
)

// states are those in which Redis refuses every new lock, and what ends them. Redis tells them by a
// code.
var states = []struct{ code, remedy string }{
	{"LOADING", "wait until Redis has read its data"},
	{"BUSY", "wait for the end of the script, or SCRIPT KILL"},
	{"MISCONF", "look in Redis's log for why it cannot write to its disk"},
	{"MASTERDOWN", "connect to the master"},
	{"READONLY", "connect to the master"},
	{"CLUSTERDOWN", "see redis-cli --cluster check, and --cluster fix"},
	{"NOREPLICAS", "bring a replica back, or lower min-replicas-to-write"},
	{"OOM", "raise maxmemory, or make room"},
}

// What could not be found out for one reason is told in one finding, to which the others point. A
// list in which each line repeats the same error is not read.
const (
	seeState = "see state"
	noEval   = "not tried: it needs EVAL"
	noKeys   = "not tried: it needs the keys"
)

// refusal returns why Redis refuses scripts or writes, if that has nothing to do with rights.
// Otherwise it returns nil. EVAL comes first: a server that refuses even a script which does
// nothing refuses all. SET finds those that mind writes only.
func (x *examination) refusal() error {
	for _, err := range []error{x.facts.Eval, x.facts.Set} {
		if store.Judge(err) == store.Undecided && store.Refused(err) {
			return err
		}
	}
	return nil
}

// state is the finding of whether Redis takes locks at all, now. A refusal that is not among the
// states may be about the one command only, so that it is Unknown, with what Redis said.
func (x *examination) state() Finding {
	err := x.refusal()
	switch {
	case err == nil && store.Judge(x.facts.Set) == store.Present:
		return Finding{"state", OK, "Redis executes scripts and writes", ""}
	case err == nil: // SET was denied, before Redis looked whether it takes writes
		return Finding{"state", Unknown, "not tried: it needs the right to SET the keys of locks", ""}
	}
	for _, s := range states {
		if store.HasCode(err, s.code) {
			return Finding{"state", Problem, short(err.Error()) + ": no lock can be taken", s.remedy}
		}
	}
	if store.HasCode(err, "MOVED") { // the name that was tried is in another server's slot, others may be here
		return Finding{"state", Unknown, short(err.Error()) + ": what was tried is another server's", ""}
	}
	return Finding{"state", Unknown, short(err.Error()), ""}
}

// short returns the first sentence of what Redis says, which can be long. What follows is advice of
// its own, on several lines at times, and findings are one line each.
func short(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return fmt.Sprintf("%.120s", strings.TrimRight(first, ".\r\n"))
}

// withheld is the finding of something that a command would tell and did not. Only a right can be
// given. A command that is disabled, or a server that is busy, does not change by that: such a
// finding has no remedy.
func (x *examination) withheld(subject, command string, err error, allow string) Finding {
	switch {
	case err == nil:
		return Finding{subject, Unknown, command + " does not say", ""}
	case store.Denied(err.Error()):
		return Finding{subject, Unknown, command + ": " + short(err.Error()), allow}
	case store.Judge(err) == store.Missing: // and not denied
		return Finding{subject, Unknown, command + " is disabled, or unknown to this server", ""}
	case x.refusal() != nil:
		return Finding{subject, Unknown, "not told: " + seeState, ""}
	}
	return Finding{subject, Unknown, command + ": " + short(err.Error()), ""}
}
