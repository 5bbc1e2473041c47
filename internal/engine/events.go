package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Events are told what happens. Any may be nil. They are called with no mutex held, on the
// goroutine that the hook of the same name in lock.Hooks says, which waits for them.
type Events struct {
	Acquired      func(Acquired)
	Waiting       func(Waiting)
	Renewed       func(Renewed)
	RenewalFailed func(RenewalFailed)
	Lost          func(Lost)
	Released      func(Released)
	Retrying      func(Retrying)
	Reconnecting  func(Reconnecting)
	Degraded      func(err error)
	Leaked        func(name string)
	StrangeTTL    func(StrangeTTL)
}

// Acquired is told when a lease began.
type Acquired struct {
	Name   string
	Label  string
	Fence  int64
	Waited time.Duration
	Until  time.Time
}

// Waiting is told when somebody else holds what was asked for.
type Waiting struct {
	Name   string
	Held   *store.Held
	Waited time.Duration
}

// Renewed is told when a renewal was confirmed.
type Renewed struct {
	Name  string
	Until time.Time
}

// RenewalFailed is told when a renewal failed that will be repeated.
type RenewalFailed struct {
	Name  string
	Err   error
	Until time.Time
}

// Lost is told when a lease ended before it was given back.
type Lost struct {
	Name string
	Err  error
}

// Released is told when a lease was given back as far as can be.
type Released struct {
	Name string
	Err  error
}

// Retrying is told when an attempt failed that will be repeated.
type Retrying struct {
	Name  string
	Err   error
	For   time.Duration
	Times int
}

// Reconnecting is told when a connection for waiting broke.
type Reconnecting struct {
	Err   error
	Times int
}

// StrangeTTL is told when somebody else has changed the TTL of a key.
type StrangeTTL struct {
	Name    string
	Removed bool          // it had lost its TTL, and has it again; else:
	TTL     time.Duration // what it has
	Longest time.Duration // that its lease ever asked for
}

// tell calls what may be nil.
func tell[I any](event func(I), info I) {
	if event != nil {
		event(info)
	}
}
