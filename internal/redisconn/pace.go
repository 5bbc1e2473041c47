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
	// movedFor is for how long after a READONLY, MOVED or LOADING a success does not end the pauses. A
	// demoted master answers reads, and refuses only what comes then.
	movedFor = 2 * time.Second
)

// A pace keeps dials from becoming a storm. While connections or calls fail, there is a pause from one
// dial to the next. It doubles with the failures, and ends with a call that succeeds. Without failures
// nothing waits but for a slot.
type pace struct {
	slots    []chan struct{} // to be taken before a dial, in this order
	strained atomic.Bool     // pause is not 0: spares the mutex after every call

	mu    sync.Mutex // guards the fields below
	pause time.Duration
	next  time.Time     // no dial begins before
	begun bool          // a dial began since the pause grew
	moved time.Time     // when a server last said that it is of no use
	eased chan struct{} // closed when the pauses end
	why   error         // of the last dial that failed; nil without pauses
}

func newPace(slots ...chan struct{}) *pace {
	return &pace{slots: slots, eased: make(chan struct{})}
}

// enter waits until a dial may begin; leave follows it. It returns false, without that, if ctx ends
// before.
func (p *pace) enter(ctx context.Context) bool {
	for i, slot := range p.slots {
		select {
		case slot <- struct{}{}:
		case <-ctx.Done():
			p.free(i)
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
func (p *pace) leave() { p.free(len(p.slots)) }

func (p *pace) free(n int) {
	for _, slot := range p.slots[:n] {
		<-slot
	}
}

// begin returns how long to wait before a dial, 0 to begin it now.
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

// failed takes note that a dial, a connection or a call failed; moved says that the server is of no
// use. Several failures without a dial between them count as one.
func (p *pace) failed(moved bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if moved {
		p.moved = now
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

// notDialled is failed for a dial.
func (p *pace) notDialled(err error) {
	p.failed(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = err
}

// last returns the error of the last dial, if it failed.
func (p *pace) last() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// succeeded takes note that a call succeeded.
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
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2)
}

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
