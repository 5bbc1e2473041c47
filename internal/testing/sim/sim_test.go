package sim

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seed     = flag.Uint64("seed", 0, "replay this program; 0: run many")
	repeat   = flag.Int("repeat", 20, "how often to replay it, until it fails")
	from     = flag.Uint64("from", 1, "the first seed")
	programs = flag.Uint64("programs", 300, "how many programs to run")
)

// run runs the program of a seed in a bubble.
func run(t *testing.T, seed uint64) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			o.violations = append(o.violations, fmt.Sprint("panic: ", p))
		}
	}()
	p := newPlan(seed)
	synctest.Test(t, func(*testing.T) { o = simulate(p) })
	return o
}

// TestSim runs programs, or one.
func TestSim(t *testing.T) {
	t.Parallel()
	if *seed != 0 {
		replay(t, *seed)
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(600)) // programs are many and small
	began := time.Now()
	var next, acquired, virtual, failed atomic.Int64
	next.Store(int64(*from))
	last := int64(*from + *programs)
	t.Run("programs", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) + 1 {
			t.Run("worker", func(t *testing.T) {
				t.Parallel()
				for failed.Load() < 5 {
					n := next.Add(1) - 1
					if n >= last {
						return
					}
					o := run(t, uint64(n))
					acquired.Add(int64(o.acquired))
					virtual.Add(int64(o.virtual - 9*24*time.Hour))
					if len(o.violations) > 0 {
						failed.Add(1)
						tell(t, uint64(n), o)
					}
				}
			})
		}
	})
	n := min(next.Load(), last) - int64(*from)
	t.Logf("%d programs, %d leases, %v of virtual time, in %v", n, acquired.Load(),
		time.Duration(virtual.Load()).Round(time.Second), time.Since(began).Round(time.Millisecond))
}

// replay runs one program until it fails, and tells of the last run.
func replay(t *testing.T, seed uint64) {
	var o outcome
	runs := 0
	for runs < *repeat && len(o.violations) == 0 {
		o = run(t, seed)
		runs++
	}
	tell(t, seed, o)
	if len(o.violations) == 0 {
		t.Logf("seed %d: no violation in %d runs; the trace is that of the last one", seed, runs)
	}
}

// tell says what was found, and how to find it again.
func tell(t *testing.T, seed uint64, o outcome) {
	var b strings.Builder
	if testing.Verbose() {
		for _, e := range o.trace {
			fmt.Fprintf(&b, "%14v  %s\n", e.at, fmt.Sprintf(e.format, e.args...))
		}
	}
	for _, v := range o.violations {
		fmt.Fprintf(&b, "%s\n", v)
	}
	t.Logf("seed %d, tail: %v: go test ./internal/testing/sim -run TestSim -seed %d -v\n%s", seed,
		newPlan(seed).tail, seed, b.String())
	if len(o.violations) > 0 {
		t.Fail()
	}
}
