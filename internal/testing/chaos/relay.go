package chaos

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

const (
	relayTTL  = 5 * time.Second      // so long that nobody finds a lock free by the holder's time
	relayHold = 4 * time.Millisecond // long enough for others to line up
	relayRest = 1500 * time.Millisecond
)

// A relay passes one lock around in a round without faults. Now and then whoever would get the next signal
// is told to leave, at about the moment of the release. Whoever released the lock or left stays away until
// others have had it: it would ask on its return, and so hide that a signal is lost.
type relay struct {
	name      string
	ttl, hold time.Duration
	victims   []*seat // that lose signals; none in a round without faults

	losing sync.Mutex   // held while victims are silent, and at each release
	silent atomic.Int64 // since when they are, in the run's time; 0: they are not

	mu   sync.Mutex // guards the fields below
	line []*place   // those who wait, first the one who has for longest
	next chan struct{}
}

// A place is one who waits.
type place struct {
	seat  *seat
	leave context.CancelFunc
}

func newRelay(name string) *relay {
	return &relay{name: name, ttl: relayTTL, hold: relayHold, next: make(chan struct{})}
}

// join puts somebody at the end of the line.
func (r *relay) join(s *seat, leave context.CancelFunc) *place {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &place{s, leave}
	r.line = append(r.line, p)
	return p
}

// left takes somebody out of the line, with the lock or without. It returns what is closed when somebody
// gets the lock after that.
func (r *relay) left(p *place, got bool) (next <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = slices.DeleteFunc(r.line, func(q *place) bool { return p == q })
	if got {
		close(r.next)
		r.next = make(chan struct{})
	}
	return r.next
}

// sendAway lets the first in line leave after a while.
func (r *relay) sendAway(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.line) > 0 {
		time.AfterFunc(after, r.line[0].leave)
	}
}

// relay takes part in a relay until stop is closed.
func (w *worker) relay(r *relay, stop <-chan struct{}) {
	for !over(stop) {
		select {
		case <-w.runWith(r, stop):
		case <-stop:
		case <-time.After(relayRest/2 + upTo(w.random, relayRest)):
		}
	}
}

// runWith waits for the lock, and releases it soon. It returns what is closed when others have it.
func (w *worker) runWith(r *relay, stop <-chan struct{}) (next <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	o := order{
		how: "Relay", name: r.name, client: w.seat.current(), waits: true,
		options: &lock.MutexOptions{TTL: r.ttl},
	}
	p, began := r.join(w.seat, cancel), w.run.now()
	lease, err := o.mutex().Lock(ctx)
	b := w.belief(lease, o, began)
	next = r.left(p, err == nil)
	w.returned(ctx, o, began, b.rec.Return, err)
	if err != nil {
		return next
	}
	for end := b.rec.Return + r.hold/2 + upTo(w.random, r.hold); b.valid() && w.run.now() < end; {
		wait(stop, poll)
	}
	release := func() {
		b.unlock(context.Background())
		b.write()
	}
	if len(r.victims) > 0 {
		w.lose(r, next, stop, release)
		return next
	}
	if chance(w.random, 50) {
		r.sendAway(upTo(w.random, time.Millisecond))
		spin(upTo(w.random, time.Millisecond))
	}
	release()
	return next
}

// spin waits for less than a timer can.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}
