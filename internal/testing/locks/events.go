package locks

import (
	"testing"

	"github.com/holdfast-go/holdfast/lock"
)

// Events are what a client's hooks told.
type Events struct {
	Acquired     chan lock.AcquiredInfo
	Waiting      chan lock.WaitingInfo
	Renewed      chan lock.RenewedInfo
	Failed       chan lock.RenewalFailedInfo
	Lost         chan lock.LostInfo
	Reconnecting chan lock.ReconnectingInfo
	Degraded     chan lock.DegradedInfo
}

// NewEvents returns events of which none has happened. Their channels never fill up.
func NewEvents() *Events {
	const room = 10_000 // more than any test makes
	return &Events{
		// Each of a crowd of 10,000 may hear an answer, and those who come to the head another one.
		make(chan lock.AcquiredInfo, room), make(chan lock.WaitingInfo, 2*room),
		make(chan lock.RenewedInfo, room), make(chan lock.RenewalFailedInfo, room),
		make(chan lock.LostInfo, room), make(chan lock.ReconnectingInfo, room),
		make(chan lock.DegradedInfo, room),
	}
}

// Hooks returns the hooks that tell of them, for [lock.Options].
func (e *Events) Hooks() lock.Hooks {
	return lock.Hooks{
		Acquired:      func(i lock.AcquiredInfo) { e.Acquired <- i },
		Waiting:       func(i lock.WaitingInfo) { e.Waiting <- i },
		Renewed:       func(i lock.RenewedInfo) { e.Renewed <- i },
		RenewalFailed: func(i lock.RenewalFailedInfo) { e.Failed <- i },
		Lost:          func(i lock.LostInfo) { e.Lost <- i },
		Reconnecting:  func(i lock.ReconnectingInfo) { e.Reconnecting <- i },
		Degraded:      func(i lock.DegradedInfo) { e.Degraded <- i },
	}
}

// RenewedNow waits for a renewal that is confirmed from now on.
func (e *Events) RenewedNow(t testing.TB) lock.RenewedInfo {
	t.Helper()
	for len(e.Renewed) > 0 {
		<-e.Renewed
	}
	return Await(t, "a renewal", e.Renewed)
}
