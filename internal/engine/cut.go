package engine

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	// strangeBy is by how much a key's TTL must exceed everything that the lease asked for. A cut
	// leaves a key alone that has lost as much since it was seen.
	strangeBy = time.Second
	// cutEvery is the least time between two cuts, unless a renewal is due anyway.
	cutEvery = time.Second
)

// A cutter decides when the key of a lease is cut: its TTL is more than the lease ever asked for,
// since somebody else, or the server's clock, changed it, and after a crash it would block the lock
// for as long.
//
// A cut is the only extend that shortens a key, and it may be executed late. So that it never
// leaves less than the lease believes in, two things hold:
//
//  1. No belief exceeds the longest TTL that the lease has asked for, which is noted before an
//     extend is sent; and that is what a cut leaves.
//  2. While a cut may be executed, nothing longer is asked for: whoever wants to waits for its
//     answer, and is refused if none came.
//
// The phases:
//
//	none      an answer shows a strange TTL    -> wanted
//	wanted    a cut is about to be sent         -> under way
//	          an answer shows a TTL of ours    -> none
//	under way it was answered                   -> none
//	          no reply came, or it was not sent -> wanted
//
// Beside that a cut without a reply is in doubt for a while: the key's TTL may be right again, and
// another cut may be sent, but rule 2 still holds.
type cutter struct {
	mu sync.Mutex // guards the fields below

	longest time.Duration // what the lease has asked for; for a key without expiry its TTL at first
	adding  time.Duration // what calls of ExtendBy that are under way may add to it
	phase   cutPhase
	told    bool          // a strange TTL was seen once
	above   time.Duration // of wanted: a TTL of up to so much is left alone
	began   time.Time     // when the last cut was about to be sent
	over    chan struct{} // of under way: closed when it is not any more
	doubt   time.Time     // until when a cut may be executed to which no reply came
}

type cutPhase int

const (
	cutNone cutPhase = iota
	cutWanted
	cutUnderWay
)

// longestLocked is what the key may have by what was asked for, and what a cut leaves. What is
// being added counts in full, since Redis may have added it before the answer came.
func (c *cutter) longestLocked() time.Duration { return min(c.longest+c.adding, MaxTTL) }

// most returns the longest TTL that the key can have by what the lease has asked for.
func (c *cutter) most() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.longestLocked()
}

// ask takes note that the lease is about to ask for ttl. If a cut is under way it waits for its
// end, which comes within an operation limit, or until ctx ends. The error Is [ErrInvalid] if a cut
// is in doubt.
func (c *cutter) ask(ctx context.Context, ttl time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ttl <= c.longest {
		return nil
	}
	if err := c.quietLocked(ctx, ttl); err != nil {
		return err
	}
	c.longest = max(c.longest, ttl)
	return nil
}

// add takes note that the lease is about to add d to what the key has. It waits and is refused as
// ask. After it has succeeded, added must be called.
func (c *cutter) add(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.quietLocked(ctx, c.longestLocked()+d); err != nil {
		return err
	}
	if d > MaxTTL-c.adding {
		return Invalid("%v more, besides what others are about to add, is over %s: give less", d, MaxTTLText)
	}
	c.adding += d
	return nil
}

// added says that the key has left now after d was added to it, and returns how much of that the
// lease may believe in: what somebody else has added may be cut.
func (c *cutter) added(d, left time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	left = min(left, c.longestLocked())
	c.longest = max(c.longest, left)
	c.adding -= d
	return left
}

// notAdded says that d was not added, or that it is not known: then the key may have it, and
// whether it does is not strange.
func (c *cutter) notAdded(d time.Duration, maybe bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if maybe {
		c.longest = min(c.longest+d, MaxTTL)
	}
	c.adding -= d
}

// quietLocked waits until no cut is under way, without the mutex meanwhile. It returns an error if
// one may be executed yet, or if ctx ends.
func (c *cutter) quietLocked(ctx context.Context, ttl time.Duration) error {
	for c.phase == cutUnderWay {
		over := c.over
		c.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if left := time.Until(c.doubt); left > 0 {
		return Invalid("the TTL %v is too long for now: somebody else, or the server's clock, has changed the"+
			" key's TTL, and a command without a reply may yet set it to %v: give no more than that, or try"+
			" again in %v", ttl, c.longest, left.Round(time.Second))
	}
	return nil
}

// seen takes in the TTL that an answer shows. first says that it is the first strange one.
func (c *cutter) seen(ttl time.Duration) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Redis was asked for whole milliseconds.
	strange := store.Millis(ttl-strangeBy) > store.Millis(c.longestLocked())
	switch {
	case c.phase == cutUnderWay: // its own answer comes
	case strange:
		c.phase, c.above = cutWanted, ttl-strangeBy
	default:
		c.phase = cutNone
	}
	first = strange && !c.told
	c.told = c.told || strange
	return first
}

// urgent reports whether a cut is to be sent now. If it is not, one that is wanted goes with the
// next renewal: whoever raises the TTL again and again must not make us send as often.
func (c *cutter) urgent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == cutWanted && (c.began.IsZero() || time.Since(c.began) >= cutEvery)
}

// begin returns the cut that is to be sent now, if one is: the TTL that it leaves, and the one up
// to which it leaves the key alone. After it has returned true, end must be called.
func (c *cutter) begin() (ttl, above time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != cutWanted {
		return 0, 0, false
	}
	ttl = c.longestLocked()
	if c.above < ttl { // that much was asked for since
		c.phase = cutNone
		return 0, 0, false
	}
	c.phase, c.began, c.over = cutUnderWay, time.Now(), make(chan struct{})
	return ttl, c.above, true
}

// end says what became of the cut under way: err is nil if it was answered.
func (c *cutter) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = cutNone
	if err != nil {
		c.phase = cutWanted
	}
	if store.Sent(err) {
		c.doubt = time.Now().Add(janitor.LateLimit)
	}
	close(c.over)
}
