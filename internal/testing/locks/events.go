package locks

import (
	"testing"

	"github.com/holdfast-go/holdfast/lock"
)

// Events are what a client's hooks told.
type Events struct {
	Acquired, Waiting, Renewed, Failed, Lost, Reconnecting, Degraded chan lock.Event
}

// NewEvents returns events of which none has happened. Their channels never fill up.
func NewEvents() *Events {
	const room = 10_000 // more than any test makes
	return &Events{
		Acquired: make(chan lock.Event, room),
		// Each of a crowd of 10,000 may hear an answer, and those who come to the head another one.
		Waiting:      make(chan lock.Event, 2*room),
		Renewed:      make(chan lock.Event, room),
		Failed:       make(chan lock.Event, room),
		Lost:         make(chan lock.Event, room),
		Reconnecting: make(chan lock.Event, room),
		Degraded:     make(chan lock.Event, room),
	}
}

// Hooks returns the hooks that tell of them, for [lock.Options].
func (e *Events) Hooks() lock.Hooks {
	return lock.Hooks{
		Acquired:      keep(e.Acquired),
		Waiting:       keep(e.Waiting),
		Renewed:       keep(e.Renewed),
		RenewalFailed: keep(e.Failed),
		Lost:          keep(e.Lost),
		Reconnecting:  keep(e.Reconnecting),
		Degraded:      keep(e.Degraded),
	}
}

// keep returns a hook that sends what it is told.
func keep(to chan<- lock.Event) func(lock.Event) {
	return func(e lock.Event) { to <- e }
}

// RenewedNow waits for a renewal that is confirmed from now on.
func (e *Events) RenewedNow(t testing.TB) lock.Event {
	t.Helper()
	for len(e.Renewed) > 0 {
		<-e.Renewed
	}
	return Await(t, "a renewal", e.Renewed)
}
