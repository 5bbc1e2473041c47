package engine

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	// firstPause is how long the second event of a kind is kept back; each later pause is twice as
	// long.
	firstPause = time.Second
	// longestPause is also the time after which a kind that has not come any more counts as new.
	longestPause = time.Minute
)

// A pace keeps trouble that goes on from flooding whoever is told of it: of each kind the first
// event is told, and then one after 1, 2, 4 s and so on, up to one a minute. Its zero value is
// ready.
type pace struct {
	mu    sync.Mutex // guards the field below
	kinds map[string]*paced
}

// paced is what a pace knows of a kind.
type paced struct {
	last  time.Time     // when it came
	next  time.Time     // when it is told again
	pause time.Duration // to the one told after that
	times int           // how often it came since it was told
}

// due takes note of trouble. It reports whether that is to be told, and how often trouble of its
// kind came since it was told last, this time included. Nothing is told here, under the mutex.
func (p *pace) due(err error) (times int, ok bool) {
	kind, now := store.Cause(err), time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds[kind]
	if k == nil || now.Sub(k.last) > longestPause {
		if p.kinds == nil {
			p.kinds = make(map[string]*paced)
		}
		k = &paced{pause: firstPause}
		p.kinds[kind] = k // there are no more kinds than Redis has codes
	}
	k.last = now
	k.times++
	if now.Before(k.next) {
		return 0, false
	}
	times, k.times = k.times, 0
	k.next = now.Add(k.pause)
	k.pause = min(2*k.pause, longestPause)
	return times, true
}
