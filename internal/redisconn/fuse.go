package redisconn

import (
	"sync"
	"time"
)

// A fuse closes a connection when an exchange takes too long. Nothing else ends a write, or a read
// that is under way.
//
// A fuse leaves its timer running when an exchange ends in time, and lets the timer look again.
// Setting a timer for every exchange would make the runtime wake another thread each time, which
// costs more than the exchange's own work.
type fuse struct {
	timer *time.Timer // set from the first exchange on, mostly

	mu       sync.Mutex // guards the fields below
	deadline time.Time  // of the exchange under way; zero without one
	fires    time.Time  // when the timer does, never after the deadline; zero if it is not set
	blown    bool       // for good
}

// newFuse returns a fuse that closes a connection by blow. The timer calls blow without mu: to
// close a connection may take a while, and nobody who disarms the fuse is to wait for that.
func newFuse(blow func()) *fuse {
	f := &fuse{}
	f.timer = time.AfterFunc(time.Hour, func() {
		if f.overdue() {
			blow()
		}
	})
	f.timer.Stop()
	return f
}

// arm begins an exchange that must have ended at the deadline, or moves that of the one under way.
func (f *fuse) arm(deadline time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = deadline
	if f.fires.IsZero() || deadline.Before(f.fires) {
		f.fires = deadline
		f.timer.Reset(time.Until(deadline))
	}
}

// disarm ends the exchange. It reports whether the fuse has blown. That is decided under mu. If
// disarm comes first, the timer finds no exchange any more. If the timer comes first, disarm says
// so, even while the connection is yet to be closed.
func (f *fuse) disarm() (blown bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = time.Time{}
	return f.blown
}

// overdue reports whether the exchange under way has had its time. If it has some left, because the
// timer was set for an earlier exchange, the timer is set for the rest.
func (f *fuse) overdue() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fires = time.Time{}
	if f.deadline.IsZero() {
		return false
	}
	if left := time.Until(f.deadline); left > 0 {
		f.fires = f.deadline
		f.timer.Reset(left)
		return false
	}
	f.blown = true
	return true
}
