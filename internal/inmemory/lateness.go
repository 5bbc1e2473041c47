package inmemory

import (
	"sync"
	"time"
)

// A lateness is how late replies come. It can change while some are on their way. Its methods may
// be called from any goroutine. Make one with newLateness.
type lateness struct {
	mu      sync.Mutex // guards the fields below
	by      time.Duration
	changed chan struct{} // closed, and made anew, when by is set
}

func newLateness() *lateness { return &lateness{changed: make(chan struct{})} }

// set sets the delay: 0 is none.
func (l *lateness) set(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by = by
	close(l.changed)
	l.changed = make(chan struct{})
}

// now returns the delay, and a channel that is closed when another one is set. Both are of one
// moment, so that no change is missed in between.
func (l *lateness) now() (by time.Duration, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by, l.changed
}

// wait waits until a reply given at this time may be delivered. It returns false when done is
// closed before. A delay that changes meanwhile counts from the time of the reply as well.
func (l *lateness) wait(at time.Time, done <-chan struct{}) bool {
	for {
		by, changed := l.now()
		left := by - time.Since(at)
		if by == 0 || left <= 0 {
			return true
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-changed:
		case <-done:
			t.Stop()
			return false
		}
		t.Stop()
	}
}
