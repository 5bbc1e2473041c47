package chaos_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/chaos"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

var soak = flag.Duration("soak", 0, "for how long TestSoak is to look whether anything piles up")

// What a client at rest may have more of than when it was first looked at: which of its connections are
// there depends on what it last did.
const (
	goroutinesEach  = 8
	filesEach       = 4
	connectionsEach = 1
	heapGrowth      = 16 << 20
)

// TestSoak runs the programs of chaos for hours. Each minute, or more often in a short run, the clients, of
// which some live as long as the run, are left alone for a while: then there must be no more goroutines,
// files, heap and connections than at the first time, but for what the constants above say.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		redistest.Skip(t, "this takes hours; -soak says how long")
	}
	cfg := common()
	cfg.TTL, cfg.Duration, cfg.Rest = time.Second, *soak, min(time.Minute, *soak/4)
	if *ttl != 0 {
		cfg.TTL = *ttl
	}
	fmt.Printf("soak: %s clients=%d workers=%d processes=%d names=%d\n",
		title(cfg), cfg.Clients, cfg.Workers, cfg.Processes, cfg.Names)
	s := soaking{t: t, began: time.Now()}
	chaos.Run(t, cfg, s.round)
	if s.samples < 2 {
		t.Errorf("there are figures of %d moments, and nothing to compare: let it run for a minute or more",
			s.samples)
	}
	fmt.Printf("soak: %v\n", &s.sum)
}

type soaking struct {
	t          *testing.T
	began      time.Time
	sum        summary
	violations int
	samples    int
	first      *chaos.Figures
}

// round looks at one round. It goes on after a violation: what is wrong once a night should be seen more
// than once.
func (s *soaking) round(h *chaos.History) bool {
	s.sum.add(h)
	if !judge(s.t, h) {
		s.violations++
	}
	if h.Figures == nil {
		return true
	}
	s.samples++
	fmt.Printf("soak: after %v: %v; %d leases, %d faults, %d rounds with violations\n",
		time.Since(s.began).Round(time.Second), h.Figures, s.sum.total(), s.sum.faults, s.violations)
	if s.first == nil {
		s.first = h.Figures
		return true
	}
	most, clients := *s.first, h.Config.AllClients()
	most.Goroutines += goroutinesEach * clients
	most.Files += filesEach * clients
	most.Connections += connectionsEach * clients
	most.Heap += heapGrowth
	if more := h.Figures.Beyond(most); more != "" {
		s.t.Errorf("after %v there are %s", time.Since(s.began).Round(time.Second), more)
	}
	return true
}
