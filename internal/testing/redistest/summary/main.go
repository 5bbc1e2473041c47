// Summary runs `go test` with its own arguments in one module after another, and ends with how many
// tests passed, failed and were skipped, and why they were skipped: `go test` itself keeps quiet about
// that. Of tests that pass it shows nothing else. It fails if `go test` fails in any of the modules,
// and goes on with the next.
//
//	go run ./internal/testing/redistest/summary . internal/testing/containers -- -race ./...
//
// The directories of the modules stand before the "--". Without it there is one, which is ".".
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	modules, args := split(os.Args[1:])
	code, err := run(modules, args, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
	}
	os.Exit(code)
}

// split parts the modules' directories from the arguments of go test.
func split(all []string) (modules, args []string) {
	i := slices.Index(all, "--")
	if i < 0 {
		return []string{"."}, all
	}
	return all[:i], all[i+1:]
}

// run tests the modules and writes one summary of them all. The code is that of the first that failed.
func run(modules, args []string, w io.Writer) (code int, err error) {
	r := newReport(w)
	for _, dir := range modules {
		c, e := r.test(dir, args)
		if e != nil {
			e = fmt.Errorf("in %s: %w", dir, e)
		}
		code, err = cmp.Or(code, c), errors.Join(err, e)
	}
	r.finish()
	return code, err
}

// test runs the tests of one module and takes what they tell.
func (r *report) test(dir string, args []string) (code int, err error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	before := r.failed
	broken := r.read(out)
	err = cmd.Wait()

	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil // it has said itself what was wrong
	case err != nil || broken != nil:
		return 1, errors.Join(err, broken)
	case r.failed > before:
		return 1, errors.New("tests failed, and go test did not")
	}
	return 0, nil
}

// An event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// A report collects what the summary tells and writes what must be seen at once.
type report struct {
	w       io.Writer
	pending map[string]map[string]string // package, test: output of tests that have not ended yet

	passed, failed, skipped int
	reasons                 map[string][]string // reason: the tests skipped for it
	order                   []string            // the reasons as they came
}

func newReport(w io.Writer) *report {
	return &report{w: w, pending: map[string]map[string]string{}, reasons: map[string][]string{}}
}

// read takes events until the end. Lines that are none are shown as they are.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			r.take(e)
		} else {
			fmt.Fprint(r.w, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e event) {
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.w, e.Output)
	case e.Action == "output" && e.Test == "":
		if worthShowing(e.Output) {
			fmt.Fprint(r.w, e.Output)
		}
	case e.Action == "output":
		if r.pending[e.Package] == nil {
			r.pending[e.Package] = map[string]string{}
		}
		if !strings.HasPrefix(e.Output, "=== ") {
			r.pending[e.Package][e.Test] += e.Output
		}
	case e.Test != "":
		r.end(e)
	case e.Action == "fail":
		for _, output := range r.pending[e.Package] { // tests that never ended: a panic, a timeout
			fmt.Fprint(r.w, output)
		}
		delete(r.pending, e.Package)
	}
}

// worthShowing tells which of a package's own lines are shown: not those that say that all is well
// or that there was nothing to do.
func worthShowing(line string) bool {
	quiet := line == "PASS\n" || strings.HasPrefix(line, "?") || strings.HasPrefix(line, "=== ") ||
		strings.HasPrefix(line, "coverage:") || strings.Contains(line, "[no tests to run]") ||
		strings.HasPrefix(line, "testing: warning: no tests to run")
	return !quiet
}

// end counts a test that has ended.
func (r *report) end(e event) {
	output := r.pending[e.Package][e.Test]
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		fmt.Fprint(r.w, output)
	case "skip":
		r.skipped++
		why := reason(output)
		if r.reasons[why] == nil {
			r.order = append(r.order, why)
		}
		r.reasons[why] = append(r.reasons[why], e.Test)
	default:
		return
	}
	delete(r.pending[e.Package], e.Test)
}

// reason finds why a test was skipped: what redistest.Skip wrote, or else the last words.
func reason(output string) string {
	last := "no reason given"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if _, after, ok := strings.Cut(line, ": SKIP "); ok {
			_, why, _ := strings.Cut(after, ": ")
			return why
		}
		if line != "" && !strings.HasPrefix(line, "---") {
			last = line
		}
	}
	return last
}

// finish writes the summary.
func (r *report) finish() {
	fmt.Fprintf(r.w, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	for _, why := range r.order {
		tests := r.reasons[why]
		shown := strings.Join(tests[:min(3, len(tests))], ", ")
		if more := len(tests) - 3; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(r.w, "  skipped %d: %s (%s)\n", len(tests), why, shown)
	}
}
