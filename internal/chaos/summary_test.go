package chaos_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/chaos"
)

// A summary says what happened in the rounds of a run.
type summary struct {
	rounds, faults  int
	leases          map[string]int // by how they were got
	gaps, handovers []time.Duration
}

func (s *summary) add(h *chaos.History) {
	s.rounds, s.faults = s.rounds+1, s.faults+len(h.Faults)
	if s.leases == nil {
		s.leases = map[string]int{}
	}
	for _, l := range h.Leases {
		how := l.How
		if l.Name == "chaos-stay" {
			how += " without expiry"
		}
		s.leases[how]++
	}
	for _, g := range h.Gaps() {
		if !h.Calm {
			s.gaps = append(s.gaps, g.Length())
		}
	}
	s.handovers = append(s.handovers, h.Handovers()...)
}

func (s *summary) total() (n int) {
	for _, k := range s.leases {
		n += k
	}
	return n
}

func (s *summary) String() string {
	return fmt.Sprintf("%d rounds, %d leases: %v, %d faults; a lock was free while somebody waited whom no"+
		" fault kept from it: %s of those seen; from a release to the next in a calm round: %s",
		s.rounds, s.total(), s.leases, s.faults, spread(s.gaps), spread(s.handovers))
}

// spread describes how durations are distributed.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "never"
	}
	slices.Sort(all)
	at := func(percent int) time.Duration {
		return all[(len(all)-1)*percent/100].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("median %v, p99 %v, at most %v, n = %d", at(50), at(99), at(100), len(all))
}
