// Command mutants breaks the library on purpose, one way after another, in a copy, and runs the tests
// that should notice. A test suite that lets such a mutant live proves nothing. It prints a table for
// docs/reliability.md, and exits with 1 if a mutant lives.
//
//	go run ./internal/testing/mutants [-chaos] [name ...]
//
// Without names it tries those that are noticed within a minute; with -chaos those that show that random
// programs under random faults find bugs. Each of these takes a run of its own.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// workers returns how many mutants are tried at a time. Their tests wait more than they compute, but a
// run of chaos has bounds for a machine that does nothing else.
func workers(chosen []mutant) int {
	if slices.ContainsFunc(chosen, mutant.chaos) {
		return 1
	}
	return 2
}

func main() {
	chaos := flag.Bool("chaos", false, "try those that take a run of chaos each")
	flag.Parse()
	if err := run(*chaos, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(chaos bool, names []string) error {
	chosen, err := choose(chaos, names)
	if err != nil {
		return err
	}
	began := time.Now()
	verdicts, err := tryAll(chosen) // the error is told behind the table
	fmt.Println("| mutant | what it does | caught by | after |\n|---|---|---|---|")
	var alive []string
	for i, m := range chosen {
		v := verdicts[i]
		if v.by == "" {
			v.by = "**nothing**"
			alive = append(alive, m.name)
		}
		fmt.Printf("| %s | %s | %s | %.0f s |\n", m.name, m.what, v.by, v.took.Seconds())
	}
	fmt.Printf("\n%d mutants in %.0f s\n", len(chosen), time.Since(began).Seconds())
	if len(alive) > 0 {
		err = errors.Join(err, fmt.Errorf("alive: %s", strings.Join(alive, ", ")))
	}
	return err
}

// choose returns the mutants of these names; without any, all of one kind.
func choose(chaos bool, names []string) ([]mutant, error) {
	quick, chaotic := all()
	switch {
	case len(names) == 0 && chaos:
		return chaotic, nil
	case len(names) == 0:
		return quick, nil
	}
	every := slices.Concat(quick, chaotic)
	var chosen []mutant
	for _, name := range names {
		i := slices.IndexFunc(every, func(m mutant) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q", name)
		}
		chosen = append(chosen, every[i])
	}
	return chosen, nil
}

// A verdict is what came of a mutant.
type verdict struct {
	by   string // which test failed first; "" if none did in time
	took time.Duration
}

// tryAll tries all mutants, each worker in a copy of its own, and tells on standard error how far it is.
func tryAll(chosen []mutant) ([]verdict, error) {
	n := workers(chosen)
	verdicts, errs := make([]verdict, len(chosen)), make([]error, len(chosen)+n)
	jobs := make(chan int, len(chosen))
	for i := range chosen {
		jobs <- i
	}
	close(jobs)
	var running sync.WaitGroup
	for worker := range n {
		running.Go(func() {
			errs[len(chosen)+worker] = inCopy(func(dir string) {
				for i := range jobs {
					v, err := chosen[i].try(dir)
					if err != nil {
						errs[i] = fmt.Errorf("%s: %w", chosen[i].name, err)
					}
					verdicts[i] = v
					fmt.Fprintf(os.Stderr, "%s: %s, %.0f s\n", chosen[i].name, v.by, v.took.Seconds())
				}
			})
		})
	}
	running.Wait()
	return verdicts, errors.Join(errs...)
}
