package chaos

import (
	"cmp"
	"slices"
	"time"
)

// longestGap is for how long a lock may be free while somebody waits for it whom no fault keeps from it.
const longestGap = look + operationLimit

// A Gap is a time during which a lock was free and a client waited for it that no fault kept from it. A
// client that is not harmed waits on while Redis is stopped.
type Gap struct {
	Name     string
	Client   int
	From, To time.Duration
	Unharmed bool
	Stopped  time.Duration // of that time; only if Unharmed
}

// Length returns how long it was, without what does not count.
func (g Gap) Length() time.Duration { return g.To - g.From - g.Stopped }

// Gaps returns all gaps, the longest first.
func (h *History) Gaps() []Gap {
	var gaps []Gap
	faults := h.faults()
	for _, free := range h.free() {
		for _, w := range h.Waits {
			g := Gap{Name: free.Name, Client: w.Client, From: max(free.From, w.Call), To: min(free.To, w.Return)}
			switch {
			case w.Name != free.waitedFor() || g.From >= g.To:
			case slices.Contains(h.Unharmed, w.Client):
				gaps = append(gaps, g.whole(faults))
			default:
				gaps = append(gaps, g.without(faults)...)
			}
		}
	}
	slices.SortStableFunc(gaps, func(a, b Gap) int { return cmp.Compare(b.Length(), a.Length()) })
	return gaps
}

// waitedFor is the name under which one waits for it.
func (f Free) waitedFor() string { return cmp.Or(f.Pool, f.Name) }

// faults returns the faults as they began.
func (h *History) faults() []Fault {
	faults := slices.Clone(h.Faults)
	slices.SortFunc(faults, func(a, b Fault) int { return cmp.Compare(a.From, b.From) })
	return faults
}

// without returns what is left of the gap beside the faults of its client, which are sorted.
func (g Gap) without(faults []Fault) (left []Gap) {
	for _, f := range faults {
		if f.Client != -1 && f.Client != g.Client || f.To < g.From || f.From > g.To {
			continue
		}
		if f.From > g.From {
			left = append(left, Gap{Name: g.Name, Client: g.Client, From: g.From, To: f.From})
		}
		g.From = f.To
	}
	if g.From < g.To {
		left = append(left, g)
	}
	return left
}

// whole returns the gap of a client that is not harmed: nothing starts its waiting anew, and only the time
// in which Redis was stopped does not count.
func (g Gap) whole(faults []Fault) Gap {
	g.Unharmed = true
	for _, f := range faults {
		if f.Client == -1 {
			g.Stopped += max(0, min(f.To, g.To)-max(f.From, g.From))
		}
	}
	return g
}

// free returns when locks were free, cut where somebody got one without a fencing token: who asks Redis
// now and then does not see that.
func (h *History) free() (all []Free) {
	for _, f := range h.Free {
		cuts := []time.Duration{}
		for _, l := range h.Leases {
			if l.Name == f.Name && l.Fence == 0 && l.Return > f.From && l.Return < f.To {
				cuts = append(cuts, l.Return)
			}
		}
		slices.Sort(cuts)
		for _, cut := range cuts {
			all = append(all, Free{f.Name, f.Pool, f.From, cut})
			f.From = cut
		}
		all = append(all, f)
	}
	return all
}
