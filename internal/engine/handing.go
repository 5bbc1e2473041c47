package engine

import "sync/atomic"

// A handing decides whether the caller of Lock gets the lease that was granted to it, or whether
// Close comes first. A lock without expiry is made permanent in between, which takes a round trip.
// Nobody works under a lease that was not handed out, so Close gives its lock back at once.
type handing struct{ decided atomic.Int32 }

const (
	handedOut = 1 + iota
	withheld
)

// handOut reports whether the caller gets the lease: not if Close came first. It is asked once,
// when nothing is left to do that takes a round trip.
func (d *handing) handOut() bool { return d.decided.CompareAndSwap(0, handedOut) }

// withhold reports whether nobody has the lease, and nobody gets it any more. Of a handOut and a
// withhold at the same moment one wins, and the loser finds out by its result.
func (d *handing) withhold() bool {
	return d.decided.CompareAndSwap(0, withheld) || d.decided.Load() == withheld
}

// withheld reports whether withhold came first.
func (d *handing) withheld() bool { return d.decided.Load() == withheld }
