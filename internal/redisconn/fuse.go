package redisconn

import (
	"sync"
	"time"
)

// A fuse closes a connection when an exchange takes too long. It leaves its timer running when an
// exchange ends in time and lets it look again: setting a timer for every exchange would make the
// runtime wake another thread each time, which costs more than the exchange's own work.
type fuse struct {
	blow  func() // closes the connection
	timer *time.Timer

	mu       sync.Mutex // guards the fields below
	deadline time.Time  // of the exchange under way; zero without one
	fires    time.Time  // when the timer does; zero if it is not set
	blown    bool
}

func newFuse(blow func()) *fuse {
	f := &fuse{blow: blow}
	f.timer = time.AfterFunc(time.Hour, f.look)
	f.timer.Stop()
	return f
}

// arm begins an exchange that must have ended at the deadline.
func (f *fuse) arm(deadline time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = deadline
	if f.fires.IsZero() || deadline.Before(f.fires) {
		f.fires = deadline
		f.timer.Reset(time.Until(deadline))
	}
}

// disarm ends the exchange. It reports whether the fuse has blown.
func (f *fuse) disarm() (blown bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = time.Time{}
	return f.blown
}

// look is what the timer calls.
func (f *fuse) look() {
	if f.overdue() {
		f.blow()
	}
}

// overdue reports whether the exchange under way has had its time. If it has some left, the timer
// is set for that.
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
