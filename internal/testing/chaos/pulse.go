package chaos

import (
	"sync"
	"time"
)

const (
	beatEvery = 5 * time.Millisecond
	// stalledFrom is how long no beat must come for the process to have been stalled: the machine gave
	// it no time, so that nothing in it is to blame.
	stalledFrom = 250 * time.Millisecond
)

// A pulse beats on a goroutine that waits for nothing but time. Where it stops beating the whole process
// stood still.
type pulse struct {
	rec *recorder

	mu     sync.Mutex // guards the fields below
	last   time.Duration
	stalls []Fault
}

// run beats until stop is closed, and writes the stalls into the history.
func (p *pulse) run(stop <-chan struct{}) {
	p.beat(p.rec.now())
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if f, ok := p.beat(p.rec.now()); ok {
				p.rec.fault(f)
			}
		}
	}
}

// beat returns the stall that ends now, if one does.
func (p *pulse) beat(now time.Duration) (f Fault, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok = p.stallLocked(now)
	if ok {
		p.stalls = append(p.stalls, f)
	}
	p.last = now
	return f, ok
}

// stallLocked returns the stall that goes on, or ends just now.
func (p *pulse) stallLocked(now time.Duration) (f Fault, ok bool) {
	f = Fault{Kind: "process without time", Client: -1, From: p.last, To: now}
	return f, p.last > 0 && now-p.last >= stalledFrom
}

// stalled returns how long the process has stood still since then.
func (p *pulse) stalled(since time.Duration) (d time.Duration) {
	now := p.rec.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.stalls
	if f, ok := p.stallLocked(now); ok { // the beat that ends it is late as well
		all = append(all[:len(all):len(all)], f)
	}
	for _, f := range all {
		d += max(0, f.To-max(f.From, since))
	}
	return d
}

// took returns how much time the process has had since then.
func (r *run) took(since time.Duration) time.Duration {
	return r.now() - since - r.pulse.stalled(since)
}
