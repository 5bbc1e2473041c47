// Command mutants breaks the library on purpose, one way after another, in a copy, and runs the tests
// that should notice. A test suite that lets such a mutant live proves nothing. It prints a table for
// docs/reliability.md, and exits with 1 if a mutant lives.
//
//	go run ./internal/testing/mutants [name ...]
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// workers is how many mutants are tried at a time. Their tests wait more than they compute.
const workers = 2

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	chosen, err := choose(names)
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

// choose returns the mutants of these names, all of them without any.
func choose(names []string) ([]mutant, error) {
	all := slices.Concat(classics, others)
	if len(names) == 0 {
		return all, nil
	}
	var chosen []mutant
	for _, name := range names {
		i := slices.IndexFunc(all, func(m mutant) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// A verdict is what came of a mutant.
type verdict struct {
	by   string // which test failed first; "" if none did in time
	took time.Duration
}

// tryAll tries all mutants, each worker in a copy of its own, and tells on standard error how far it is.
func tryAll(all []mutant) ([]verdict, error) {
	verdicts, errs := make([]verdict, len(all)), make([]error, len(all)+workers)
	jobs := make(chan int, len(all))
	for i := range all {
		jobs <- i
	}
	close(jobs)
	var running sync.WaitGroup
	for n := range workers {
		running.Go(func() {
			errs[len(all)+n] = inCopy(func(dir string) {
				for i := range jobs {
					v, err := all[i].try(dir)
					if err != nil {
						errs[i] = fmt.Errorf("%s: %w", all[i].name, err)
					}
					verdicts[i] = v
					fmt.Fprintf(os.Stderr, "%s: %s, %.0f s\n", all[i].name, v.by, v.took.Seconds())
				}
			})
		})
	}
	running.Wait()
	return verdicts, errors.Join(errs...)
}
