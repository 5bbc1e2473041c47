// Command bench measures holdfast against code that a good engineer would write by hand with redigo,
// on a Redis of its own, and prints ratios within one run: machines differ and are noisy, so a single
// time says little. Every measurement alternates between the two in short rounds; a line gives the
// median of the rounds' ratios and the range that the middle half of them lies in.
//
//	go run . [-redis-server path] [-rounds n] [name ...]
//
// It exits with 1 if exclusion was broken or a lease was lost.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A measurement is one thing that can be measured.
type measurement struct {
	name string
	what string
	run  func(e *env) error
}

var measurements = []measurement{
	{"uncontended", "lock + unlock, one goroutine, nobody else", uncontended},
	{"parallel", "lock + unlock, 64 goroutines on 64 names", parallel},
	{"handover", "from Unlock in one client to Lock in another", handover},
	{"pool", "from Unlock to Lock of the one free member of 1,000", poolHandover},
	{"crash", "from the expiry of a dead holder's key to the next holder", crash},
	{"waiters", "Unlock and renewal beside 1,000 waiters", besideWaiters},
	{"hold", "10,000 leases held for 30 s with a TTL of 3 s", holdMany},
	{"list", "List among 1,000,000 foreign keys, and the PINGs of others meanwhile", listAmong},
}

func main() {
	server := flag.String("redis-server", "redis-server", "the server `program` to measure on")
	rounds := flag.Int("rounds", 21, "how many `rounds` a comparison has")
	flag.Usage = usage
	flag.Parse()
	if err := run(*server, *rounds, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: go run . [-redis-server path] [-rounds n] [name ...]")
	for _, m := range measurements {
		fmt.Fprintf(os.Stderr, "  %-12s %s\n", m.name, m.what)
	}
}

func run(server string, rounds int, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(measurements, func(m measurement) bool { return m.name == name }) {
			return fmt.Errorf("%q is no measurement: choose from those that -h lists", name)
		}
	}
	e, err := start(server, rounds)
	if err != nil {
		return err
	}
	defer e.stop()
	for _, m := range measurements {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		fmt.Printf("\n%s: %s\n", m.name, m.what)
		if err := m.run(e); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// compare alternates between ours and theirs, each for some operations a round, and prints what the
// rounds' ratios of speed are: above 1 ours is faster.
func (e *env) compare(what, peer string, ours, theirs func() (time.Duration, error)) error {
	var ratios, our, their []float64
	for i := range e.rounds + 1 {
		a, err := ours()
		if err != nil {
			return err
		}
		b, err := theirs()
		if err != nil {
			return err
		}
		if i == 0 {
			continue // to warm up
		}
		ratios = append(ratios, float64(b)/float64(a))
		our, their = append(our, micros(a)), append(their, micros(b))
	}
	slices.Sort(ratios)
	fmt.Printf("  %-34s %5.2f × %s (middle half %.2f to %.2f); %.1f µs, theirs %.1f µs\n",
		what, quantile(ratios, 0.5), peer, quantile(ratios, 0.25), quantile(ratios, 0.75),
		median(our), median(their))
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func median(values []float64) float64 {
	slices.Sort(values)
	return quantile(values, 0.5)
}

// quantile returns the q-quantile of sorted values.
func quantile(sorted []float64, q float64) float64 {
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// timeEach returns how long one of n operations took on average.
func timeEach(n int, op func() error) (time.Duration, error) {
	began := time.Now()
	for range n {
		if err := op(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

// titled puts text before an error's, unless it is nil.
func titled(err error, text ...string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.Join(text, " "), err)
}
