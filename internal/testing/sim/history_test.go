package sim

import (
	"bytes"
	"math"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
)

// A belief is a lease as its user sees it. The fields from end on are guarded by world.mu.
type belief struct {
	name, actor string
	client      int
	call        stamp // when it was asked for
	begin       stamp // when it was returned
	fence       int64
	opts        lock.MutexOptions
	take        take
	lease       *lock.Lease

	end     stamp // zero: not yet
	why     string
	lost    error
	kept    bool // Unlock returned nil while it was held
	longest time.Duration
	number  int // how many leases of the lock there were with this one
}

func (b *belief) ended() bool { return b.end.seq != 0 }

// margin is the time that Close leaves to whoever holds the belief.
func (b *belief) margin() time.Duration { return max(b.longest/20, 10*time.Millisecond) }

// believe begins a belief.
func (w *world) believe(l *lock.Lease, b *belief) *belief {
	b.begin, b.fence, b.lease = w.now(), l.Fence(), l
	b.longest = b.opts.TTL
	if b.longest == lock.NoExpiry {
		b.longest = 30 * time.Second
	}
	if until := l.Deadline(); !until.IsZero() && !time.Now().Before(until) && l.Err() == nil {
		w.violation("%s: %v %s returned at its deadline, or later", b.actor, b.take, b.name)
	}
	w.note("%s: has %s, fence %d, id %s, until %v", b.actor, b.name, b.fence, l.ID(),
		l.Deadline().Sub(w.began))
	w.mu.Lock()
	w.beliefs = append(w.beliefs, b)
	w.grants[b.name]++
	w.held[l.ID()] = true
	b.number = w.grants[b.name]
	delete(w.releases, place(b.name))
	delete(w.unlocked, l.ID()) // a given id, or one that was kept
	w.mu.Unlock()
	go func() { // ends with the lease, which Close ends at the latest
		<-l.Done()
		if l.Valid() {
			w.violation("%s: %s is valid although it is done", b.actor, b.name)
		}
		w.endBelief(b, "Done")
	}()
	return b
}

func (b *belief) lengthen(w *world, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.longest += d
}

// look compares Valid with Done.
func (b *belief) look(w *world) {
	valid := b.lease.Valid()
	if valid && b.lease.Err() != nil && !b.lease.Valid() {
		return // it has ended in between
	}
	if valid && b.lease.Err() != nil {
		w.violation("%s: %s is valid, and its error is %v", b.actor, b.name, b.lease.Err())
	}
}

// endBelief ends a belief, if it has not ended.
func (w *world) endBelief(b *belief, why string) {
	at, err := w.now(), b.lease.Err()
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.ended() {
		return
	}
	b.end, b.why = at, why
	if why != "Detach" && err != nil && err != lock.ErrReleased && err != lock.ErrDetached {
		b.lost = err
	}
	w.note("%s: belief in %s ends: %s, %v", b.actor, b.name, why, err)
}

// released takes note of what Unlock returned.
func (w *world) released(b *belief, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := b.lease.ID()
	delete(w.held, id)
	if err == nil {
		b.kept = b.opts.HoldAtLeast > 0
		stays := !b.kept || w.plan.clients[b.client].close == 0 // to give the signal at the minimum's end
		if stays && w.grants[b.name] == b.number {              // else somebody has it again
			w.releases[place(b.name)] = max(w.elapsed(), b.begin.at+b.opts.HoldAtLeast)
		}
	}
	if b.opts.TTL != lock.NoExpiry && b.opts.ID == "" && !b.opts.KeepID && b.why == "Unlock" {
		w.unlocked[id] = true
	}
}

// place is where others wait for a lock.
func place(name string) string {
	place, _, _ := strings.Cut(name, "/")
	return place
}

// watchWrites looks for renewals that are written after Unlock has returned.
func (w *world) watchWrites(b []byte) {
	if !bytes.Contains(b, []byte(scripts.Extend.SHA1)) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, command := range strings.Split(string(b), "\r\nEVAL") { // what precedes that is of the one before
		if !strings.Contains(command, scripts.Extend.SHA1) {
			continue
		}
		for _, line := range strings.Split(command, "\r\n") {
			if w.unlocked[line] {
				delete(w.unlocked, line)
				w.violations = append(w.violations, "a renewal of "+line+" was written after Unlock returned")
			}
		}
	}
}

const nobody = 0

// A takeover is something that may end the beliefs of others. Its fields are guarded by world.mu.
type takeover struct {
	name     string // "" for all locks
	by       int64  // the call stamp of the turn that gets the lock by it
	from, to int64  // not over: to is the largest
}

func (w *world) takeover(name string, by int64) *takeover {
	at := w.now()
	t := &takeover{name: name, by: by, from: at.seq, to: math.MaxInt64}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takeovers = append(w.takeovers, t)
	return t
}

// over ends a takeover whose outcome is known; another may happen any time later.
func (t *takeover) over(w *world, known bool) {
	at := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if known {
		t.to = at.seq
	}
}

// excused reports whether two beliefs may overlap.
func (w *world) excused(a, b *belief) bool {
	for _, t := range w.takeovers {
		if t.name != "" && t.name != a.name {
			continue
		}
		if a.call.seq < t.to && t.from < b.end.seq && t.by != a.call.seq ||
			b.call.seq < t.to && t.from < a.end.seq && t.by != b.call.seq {
			return true
		}
	}
	return false
}

// judge looks at the whole history.
func (w *world) judge() {
	for i, a := range w.beliefs {
		if !a.ended() {
			w.violation("%s: the belief in %s does not end", a.actor, a.name)
			a.end = w.now()
		}
		w.judgeOne(a)
		for _, b := range w.beliefs[:i] {
			if a.name == b.name {
				w.judgePair(b, a)
			}
		}
	}
}

// judgeOne looks at one belief.
func (w *world) judgeOne(b *belief) {
	if most := b.opts.MaxHold; most != 0 && b.end.at-b.begin.at > most {
		w.violation("%s: %s was held for %v, MaxHold %v", b.actor, b.name, b.end.at-b.begin.at, most)
	}
	p := w.plan
	// With TTLs from 60 ms on a renewal has 10 ms, for up to four round trips.
	slow := p.clients[b.client].latency > time.Millisecond
	if b.lost == nil || !p.calm || slow || b.opts.MaxHold != 0 || b.opts.NoRenewal || p.clients[b.client].close != 0 {
		return
	}
	for _, t := range w.takeovers {
		if t.name == b.name || t.name == "" {
			return
		}
	}
	if !strings.Contains(b.lost.Error(), lock.ErrClosed.Error()) {
		w.violation("%s: %s was lost without an accident: %v", b.actor, b.name, b.lost)
	}
}

// outlives reports whether a goes on for longer than a renewal before b can have been good for: also
// who was robbed of his lock is told so. Where both have the same id, their fencing tokens tell them
// apart; without any, or if the store may forget them, nothing does.
func (a *belief) outlives(b *belief, forgetful bool) bool {
	shared := a.opts.ID != "" || a.take == adopt || a.lease.ID() == b.lease.ID()
	blind := shared && (a.fence == 0 || b.fence == 0 || forgetful)
	after := a.begin.seq < b.call.seq // else a may have been granted the lock after b
	return !blind && after && a.opts.TTL != lock.NoExpiry && a.end.at > b.begin.at+a.longest
}

// judgePair looks at two beliefs in one lock, of which a began first.
func (w *world) judgePair(a, b *belief) {
	excused := w.excused(a, b)
	if a.end.seq > b.begin.seq && !excused {
		w.violation("TWO HOLDERS of %s: %s from %v (asked %v) to %v (%s),"+
			" and %s from %v (asked %v) to %v (%s)",
			a.name, a.actor, a.begin.at, a.call.at, a.end.at, a.why,
			b.actor, b.begin.at, b.call.at, b.end.at, b.why)
	}
	if a.fence != 0 && b.fence != 0 && a.fence >= b.fence &&
		(!excused || a.begin.seq < b.call.seq) {
		w.violation("FENCE of %s: %d of %s, then %d of %s", a.name, a.fence, a.actor, b.fence, b.actor)
	}
	if a.outlives(b, w.plan.forgetful) && !w.plan.late {
		w.violation("%s: %s goes on until %v (%s), although %s had it at %v", a.actor, a.name, a.end.at,
			a.why, b.actor, b.begin.at)
	}
	kept := time.Duration(float64(a.opts.HoldAtLeast) / (1 + max(w.plan.rate, 0))) // by the store's clock
	if least := a.begin.at + kept; a.kept && b.begin.at < least && !excused {
		w.violation("%s: %s was to be kept until %v, and %s had it at %v", a.actor, a.name, least,
			b.actor, b.begin.at)
	}
}
