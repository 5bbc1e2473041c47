package chaos

import (
	"cmp"
	"fmt"
	"slices"
)

// A Violation is a rule that a history breaks.
type Violation struct {
	Rule string // overlap, fence, gap, signal, kept, told, shrunk, seen; linear of the tests
	Text string
}

func (v Violation) String() string { return v.Rule + ": " + v.Text }

func violation(rule, format string, args ...any) Violation {
	return Violation{rule, fmt.Sprintf(format, args...)}
}

// Check returns what is wrong with a history, by all rules of this package.
func Check(h *History) []Violation {
	var found []Violation
	for _, text := range h.Seen {
		found = append(found, Violation{"seen", text})
	}
	for name, leases := range h.byName() {
		found = append(found, h.overlaps(leases)...)
		found = append(found, h.fences(leases, h.Before[name])...)
		found = append(found, h.kept(leases)...)
		found = append(found, h.told(name, leases)...)
		found = append(found, h.shrunk(name, leases)...)
	}
	for _, g := range h.Gaps() {
		if g.Length() > longestGap {
			found = append(found, violation("gap",
				"%s was free from %v to %v, %v of what counts, while client %d waited (unharmed: %v)",
				g.Name, g.From, g.To, g.Length(), g.Client, g.Unharmed))
		}
	}
	return append(found, h.signals()...)
}

// byName returns the leases of each name, in the order in which the belief in them began.
func (h *History) byName() map[string][]Lease {
	names := map[string][]Lease{}
	for _, l := range h.Leases {
		names[l.Name] = append(names[l.Name], l)
	}
	for _, leases := range names {
		slices.SortFunc(leases, func(a, b Lease) int { return cmp.Compare(a.Begin, b.Begin) })
	}
	return names
}

// overlaps returns the pairs of leases of one name that were believed in at the same time, each lease
// with the one that was believed in for longest of those that began before it.
func (h *History) overlaps(leases []Lease) (found []Violation) {
	var last *Lease
	for i := range leases {
		l := &leases[i]
		if !l.believed() {
			continue
		}
		if last != nil && l.Begin < last.End && !h.removed(*last, *l) {
			found = append(found, violation("overlap", "for %v: %v; %v",
				min(l.End, last.End)-l.Begin, *last, *l))
		}
		if last == nil || l.End > last.End {
			last = l
		}
	}
	return found
}

// removed reports whether an operator's act explains that there were two: Redis executed it after it had
// granted one lease and before it granted the other. Which one was first only their tokens tell: the
// first one's reply may have come last.
func (h *History) removed(a, b Lease) bool {
	between := func(a, b Lease) bool {
		return slices.ContainsFunc(h.Removals, func(r Removal) bool {
			return r.Name == a.Name && (r.Unsure || r.Return > a.Call) && r.Call < b.Return
		})
	}
	switch {
	case a.Fence == 0 || b.Fence == 0:
		return between(a, b) || between(b, a)
	case a.Fence < b.Fence:
		return between(a, b)
	default:
		return between(b, a)
	}
}

// kept looks whether somebody got a lock before its HoldAtLeast was over, counted from the call, as
// the library counts from some time between the call and its return.
func (h *History) kept(leases []Lease) (found []Violation) {
	for i, l := range leases {
		if !l.Released || l.AtLeast == 0 || h.Config.Operator {
			continue
		}
		for _, next := range leases[i+1:] {
			if next.believed() && next.Begin >= l.End && next.Return < l.Call+l.AtLeast {
				found = append(found, violation("kept", "not for %v: %v; %v", l.AtLeast, l, next))
			}
		}
	}
	return found
}

// told looks whether a belief outlived an operator's act. No renewal is confirmed after it, so that
// needs no slack: the last one counts from before the act, and for no more than the lease ever asked.
func (h *History) told(name string, leases []Lease) (found []Violation) {
	for _, r := range h.Removals {
		for _, l := range leases {
			if r.Name == name && !r.Unsure && l.believed() && l.Begin < r.Call &&
				l.End > r.Return+l.Longest {
				found = append(found, violation("told", "not by %v after %s from %v to %v: %v",
					l.End-r.Return, r.Kind, r.Call, r.Return, l))
			}
		}
	}
	return found
}

// greatest returns the greatest tokens that there were until the end of this round.
func (h *History) greatest() map[string]int64 {
	tokens := map[string]int64{}
	for name, token := range h.Before {
		tokens[name] = token
	}
	for _, l := range h.Leases {
		tokens[l.Name] = max(tokens[l.Name], l.Fence)
	}
	return tokens
}
