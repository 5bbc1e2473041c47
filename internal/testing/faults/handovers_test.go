package faults_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
)

// seedVariable is the environment variable that gives the seed with which TestFaultHandovers draws the faults.
const seedVariable = "HOLDFAST_TEST_SEED"

// Row 11, and the form in which users meet it: waiters leave at random moments around the push of the
// signal. None is lost: somebody else is woken.
// Rows 10 and 29: they are cut off, or fall silent, and can take a signal with them. Somebody else finds
// the lock free by a look.
func TestFaultHandovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		per1000  map[string]int // handovers with this fault
		slow1000 int            // that may be found by a look
	}{
		{"waiters leave", map[string]int{"cancel": 400}, 10},
		{
			"waiters are cut off",
			map[string]int{"cancel": 200, "reset": 30, "reset all": 30, "silence": 3},
			60,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRelay(t, c.per1000)
			r.slowMost = r.most * c.slow1000 / 1000
			r.race(t)
			median, most := locks.Spread(r.gaps)
			t.Logf("%d handovers, faults %v; free while waited for: median %v, at most %v, %d over 150 ms",
				len(r.gaps), r.faults, median, most, r.slow)
			if limit := locks.S + locks.R + locks.Slack; most > limit {
				t.Errorf("the lock was free for %v while somebody waited, want at most %v", most, limit)
			}
			if r.slow > r.slowMost {
				t.Errorf("%d of %d handovers were found by a look: signals are lost", r.slow, len(r.gaps))
			}
		})
	}
}

func newRelay(t *testing.T, per1000 map[string]int) *relay {
	seed := uint64(number(t, seedVariable, rand.Int()))
	t.Logf("%s=%d", seedVariable, seed)
	r := &relay{
		most: locks.Size(2000, 100_000) / 2, per1000: per1000,
		faults: map[string]int{}, rng: rand.New(rand.NewPCG(seed, 0)),
	}
	r.next = sync.NewCond(&r.mu)
	s := locks.Server(t)
	for i := range 7 {
		one := &runner{proxy: locks.Proxy(t, s), cancel: func() {}}
		one.client = locks.Met(t, one.proxy.URL(), nil)
		r.runners = append(r.runners, one)
		if i >= 3 { // one of the first three waits at any time
			r.victims = append(r.victims, one)
		}
	}
	return r
}

// number returns the number that an environment variable gives, or the default.
func number(t *testing.T, variable string, number int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return number
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return number
}
