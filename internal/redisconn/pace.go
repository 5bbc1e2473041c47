package redisconn

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	leastPause = 20 * time.Millisecond // before the dial after a failure
	mostPause  = time.Second           // which repeated failures double it to
	// movedFor is for how long after a READONLY, MOVED or LOADING a success does not end the
	// pauses. A demoted master answers reads, and refuses only what comes then.
	movedFor = 2 * time.Second
)

// A pace keeps dials from becoming a storm. While connections or calls fail, there is a pause from
// one dial to the next. The pause doubles with the failures, and ends with a call that succeeds.
// Without failures a dial waits for nothing but its turn.
type pace struct {
	turn     chan struct{} // has room for the one dial that may be under way; nil: any number may
	strained atomic.Bool   // pause is not 0; spares the mutex after every call

	mu    sync.Mutex // guards the fields below
	pause time.Duration
	next  time.Time     // no dial begins before
	begun bool          // a dial began since the pause grew
	moved time.Time     // when a server last said that it is of no use
	eased chan struct{} // closed when the pauses end, which ends those under way
	why   error         // of the last dial that failed; nil without pauses
}

// newPace returns a pace whose dials take turns, if turn is not nil.
func newPace(turn chan struct{}) *pace { return &pace{turn: turn, eased: make(chan struct{})} }

// enter waits until a dial may begin; leave follows when the dial has ended. If ctx ends before,
// enter returns false, and there is nothing to leave.
//
// A dial has its turn during the pause as well. So one pauses at a time, and those behind it learn
// from how its dial ends.
func (p *pace) enter(ctx context.Context) bool {
	if p.turn != nil {
		select {
		case p.turn <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	for {
		wait, eased := p.begin(time.Now())
		if wait <= 0 {
			return true
		}
		if !pause(ctx, wait, eased) {
			p.leave()
			return false
		}
	}
}

// leave ends what enter began.
func (p *pace) leave() {
	if p.turn != nil {
		<-p.turn
	}
}

// begin returns how long to wait before a dial, 0 to begin it now. After the wait the caller asks
// again: dials that began meanwhile, or failures, may have moved next.
func (p *pace) begin(now time.Time) (wait time.Duration, eased <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pause == 0 {
		return 0, nil
	}
	if wait = p.next.Sub(now); wait > 0 {
		return wait, p.eased
	}
	p.next, p.begun = now.Add(jitter(p.pause)), true
	return 0, nil
}

// failed takes note that a dial, a connection or a call failed. moved says that the server is of no
// use. why is the error of a dial, else nil. Several failures without a dial between them count as
// one: a thousand calls on one broken connection say no more than the first of them.
func (p *pace) failed(moved bool, why error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if moved {
		p.moved = now
	}
	if why != nil {
		p.why = why
	}
	switch {
	case p.pause == 0:
		p.pause = leastPause
		p.strained.Store(true)
	case p.begun:
		p.pause = min(2*p.pause, mostPause)
	default:
		return
	}
	p.next, p.begun = now.Add(jitter(p.pause)), false
}

// last returns the error of the last dial, if it failed.
func (p *pace) last() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// succeeded takes note that a call succeeded. It is called after every exchange, and takes no mutex
// without pauses. A failure at the same moment is seen by the next success.
func (p *pace) succeeded() {
	if !p.strained.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pause == 0 || time.Since(p.moved) < movedFor {
		return
	}
	p.pause, p.begun, p.why = 0, false, nil
	p.strained.Store(false)
	close(p.eased)
	p.eased = make(chan struct{})
}

// jitter returns d ± 25 %, so that clients that failed together do not dial together.
func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2) }

// pause waits for d, or until early is closed. It returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
		return false
	}
	return true
}
