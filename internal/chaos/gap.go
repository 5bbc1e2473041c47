package chaos

import (
	"cmp"
	"slices"
	"time"
)

// longestGap is for how long a lock may be free while somebody waits for it whom no fault keeps from it.
const longestGap = look + operationLimit

// A Gap is a time during which a lock was free and a client waited for it that no fault kept from it.
type Gap struct {
	Name     string
	Client   int
	From, To time.Duration
}

// Length returns how long it was.
func (g Gap) Length() time.Duration { return g.To - g.From }

// Gaps returns all gaps, the longest first.
func (h *History) Gaps() []Gap {
	var gaps []Gap
	faults := h.faults()
	for _, free := range h.free() {
		for _, w := range h.Waits {
			g := Gap{free.Name, w.Client, max(free.From, w.Call), min(free.To, w.Return)}
			if w.Name == free.waitedFor() && g.From < g.To {
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
			left = append(left, Gap{g.Name, g.Client, g.From, f.From})
		}
		g.From = f.To
	}
	if g.From < g.To {
		left = append(left, g)
	}
	return left
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
