package locktest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// fatal is a test that only notes how it was ended.
type fatal struct {
	*testing.T
	said string
}

func (f *fatal) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

// ended runs what must end the test, and returns what it says.
func (f *fatal) ended(do func()) (said string) {
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
		said = f.said
	}()
	f.said = ""
	do()
	return ""
}

// A server that was started outside of a bubble is refused inside, in plain words. The runtime
// would end the process with a nil pointer.
func TestStartedOutsideOfTheBubble(t *testing.T) {
	const want = "started outside this synctest bubble: start it inside"
	f := &fatal{T: t}
	s := locktest.Start(f)
	synctest.Test(t, func(t *testing.T) {
		for what, do := range map[string]func(){
			"Client": func() { s.Client(f, nil) },
			"Steal":  func() { s.Steal("job", time.Minute) },
		} {
			if said := f.ended(do); !strings.Contains(said, want) {
				t.Errorf("%s: %q, want %q", what, said, want)
			}
		}
		c, err := lock.New(s.Pool(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Mutex("job").TryLock(t.Context())
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("TryLock over a pool: %v, want %q", err, want)
		}
	})
}
