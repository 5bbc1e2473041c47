package chaos

import (
	"cmp"
	"slices"
	"time"
)

const (
	slow      = 150 * time.Millisecond // a handover that takes longer was found by a look
	slowShare = 50                     // one of so many may be, and one more
)

// Handovers returns, for each release in a calm round for whose lock somebody waited, how long it took from
// there until somebody had it.
func (h *History) Handovers() (all []time.Duration) {
	if !h.Calm {
		return nil
	}
	for name, leases := range h.byName() {
		slices.SortFunc(leases, func(a, b Lease) int { return cmp.Compare(a.Return, b.Return) })
		for i, l := range leases[:len(leases)-1] {
			next := leases[i+1]
			if l.Released && h.waited(name, l.Unlock, next.Return) {
				all = append(all, max(0, next.Return-l.Unlocked))
			}
		}
	}
	slices.Sort(all)
	return all
}

// waited reports whether somebody waited for all of that time, whoever got the lock then.
func (h *History) waited(name string, from, to time.Duration) bool {
	return slices.ContainsFunc(h.Waits, func(w Wait) bool {
		return w.Name == name && w.Call < from && w.Return >= to
	})
}

// signals looks whether those who wait are woken: in a round without faults nearly all handovers are
// quick. Where a signal was lost, it takes until somebody's look.
func (h *History) signals() []Violation {
	all := h.Handovers()
	i, _ := slices.BinarySearch(all, slow)
	if found := len(all) - i; found > len(all)/slowShare+1 {
		return []Violation{violation("signal", "%d of %d handovers took longer than %v, up to %v",
			found, len(all), slow, all[len(all)-1])}
	}
	return nil
}
