package chaos_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/chaos"
)

// A summary says what happened in the rounds of a run.
type summary struct {
	rounds, faults int
	lost           int            // faults to whoever would get a signal
	leases         map[string]int // by how they were got

	gaps, handovers []time.Duration
	unharmed        []time.Duration // for which a lock was free while an unharmed client waited
}

func (s *summary) add(h *chaos.History) {
	s.rounds, s.faults = s.rounds+1, s.faults+len(h.Faults)
	from := map[time.Duration]bool{}
	for _, f := range h.Faults {
		if strings.HasPrefix(f.Kind, "signal ") {
			from[f.From] = true
		}
	}
	s.lost += len(from)
	if s.leases == nil {
		s.leases = map[string]int{}
	}
	for _, l := range h.Leases {
		how := l.How
		switch l.Name {
		case "chaos-stay":
			how += " without expiry"
		case "chaos-lossy":
			how += " while signals get lost"
		}
		s.leases[how]++
	}
	s.addGaps(h)
	s.handovers = append(s.handovers, h.Handovers()...)
}

// addGaps takes in those under faults: of several unharmed clients that waited for the same, the longest
// wait.
func (s *summary) addGaps(h *chaos.History) {
	type end struct {
		name string
		at   time.Duration
	}
	ends := map[end]bool{}
	for _, g := range h.Gaps() {
		at := end{g.Name, g.To}
		switch {
		case h.Calm:
		case !g.Unharmed:
			s.gaps = append(s.gaps, g.Length())
		case !ends[at]:
			ends[at] = true
			s.unharmed = append(s.unharmed, g.Length())
		}
	}
}

// long returns how many durations are those of a look, 0.5 to 3 s.
func long(all []time.Duration) (n int) {
	for _, d := range all {
		if d >= 500*time.Millisecond && d <= 3*time.Second {
			n++
		}
	}
	return n
}

func (s *summary) total() (n int) {
	for _, k := range s.leases {
		n += k
	}
	return n
}

func (s *summary) String() string {
	return fmt.Sprintf("%d rounds, %d leases: %v, %d faults, of them %d times some to whoever would get a"+
		" signal; a lock was free while an unharmed client waited: %s of those seen, %d of 0.5 s to 3 s;"+
		" while another one waited whom no fault kept from it: %s; from a release to the next in a calm"+
		" round: %s", s.rounds, s.total(), s.leases, s.faults, s.lost, spread(s.unharmed),
		long(s.unharmed), spread(s.gaps), spread(s.handovers))
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
