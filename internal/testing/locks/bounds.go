package locks

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// The bounds are those of the design: S is the second from one look of a waiter to the next, R an
// operation limit. Slack is what a machine that does much else adds.
const (
	S     = time.Second
	R     = 2 * time.Second
	Slack = time.Second
)

// LongVariable is the environment variable that asks for the long forms of tests that make a fault
// happen over and over: as often as the plan asks, which takes minutes.
const LongVariable = "HOLDFAST_TEST_LONG"

// Size returns how often a fault is to happen.
func Size(short, long int) int {
	if os.Getenv(LongVariable) != "" {
		return long
	}
	return short
}

// Took fails the test if it is more than the limit from began to ended. It returns how much it is.
func Took(t testing.TB, what string, began, ended time.Time, limit time.Duration) time.Duration {
	t.Helper()
	took := ended.Sub(began)
	if took > limit {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
	return took
}

// Is fails the test unless the error is every one of those wanted.
func Is(t testing.TB, what string, err error, wanted ...error) {
	t.Helper()
	for _, want := range wanted {
		if !errors.Is(err, want) {
			t.Errorf("%s: %v: is not %q", what, err, want)
		}
	}
}

// Says fails the test unless the error says this code or text of Redis's, and is not ErrHeld.
func Says(t testing.TB, what string, err error, code string) {
	t.Helper()
	if !strings.Contains(fmt.Sprint(err), code) {
		t.Errorf("%s: %v: does not say %s", what, err, code)
	}
	if errors.Is(err, lock.ErrHeld) {
		t.Errorf("%s: %v: is ErrHeld", what, err)
	}
}

// Pause lets a time pass that is the fault itself.
func Pause(d time.Duration) { <-time.After(d) }

// Spread returns the median and the greatest.
func Spread(all []time.Duration) (median, most time.Duration) {
	if len(all) == 0 {
		return 0, 0
	}
	const unit = 10 * time.Microsecond
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2].Round(unit), sorted[len(sorted)-1].Round(unit)
}
