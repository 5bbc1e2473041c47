package chaos

import (
	"cmp"
	"slices"
	"time"
)

// marks are fencing tokens and times from which on all later ones must be greater.
type marks []mark

type mark struct {
	at    time.Duration
	token int64
}

// sort sorts the marks by time and raises each token to the greatest one until then.
func (m marks) sort() {
	slices.SortFunc(m, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(m); i++ {
		m[i].token = max(m[i].token, m[i-1].token)
	}
}

// before returns the greatest token of the marks before a time, 0 if there is none.
func (m marks) before(at time.Duration) int64 {
	i, _ := slices.BinarySearchFunc(m, at, func(m mark, at time.Duration) int {
		return cmp.Compare(m.at, at)
	})
	if i == 0 {
		return 0
	}
	return m[i-1].token
}

// fences looks whether the tokens of one name increase: of a lease whose call began after another
// one's had returned, or that was believed in after the belief in another one had ended, the token is
// greater. before is the greatest token of the rounds before. The second half does not count where an
// operator takes locks away: then a reply that comes late can begin a belief in what is over.
func (h *History) fences(leases []Lease, before int64) (found []Violation) {
	var returned, ended marks
	for _, l := range leases {
		if l.Fence == 0 {
			continue
		}
		returned = append(returned, mark{l.Return, l.Fence})
		if l.believed() && !h.Config.Operator {
			ended = append(ended, mark{l.End, l.Fence})
		}
	}
	returned.sort()
	ended.sort()
	for _, l := range leases {
		least := max(before, returned.before(l.Call))
		if l.believed() {
			least = max(least, ended.before(l.Begin))
		}
		if l.Fence != 0 && l.Fence <= least {
			found = append(found, violation("fence", "a lease before it had %d: %v", least, l))
		}
	}
	return found
}
