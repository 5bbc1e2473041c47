package sim

import (
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A plan is a program: all that a seed decides.
type plan struct {
	seed      uint64
	calm      bool // no accidents
	names     int
	clients   []clientPlan
	windows   []window
	incidents []incident
	end       time.Duration // of the last accident
	late      bool          // commands may be executed after their connection was closed
	forgetful bool          // the store may lose its memory, or its clock may be stepped forward
	back      bool          // its clock may be stepped back
	rate      float64       // by how much its clock is faster than the clients', of 1
	sessions  bool          // the store knows CLIENT ID, its run_id, and CLIENT KILL
	tail      tail          // what stands against commands that a cut leaves behind
}

type clientPlan struct {
	latency time.Duration // of a piece: less than this
	keep    bool
	close   time.Duration // when it is closed; 0: at the end
	actors  [][]turn
}

// A take is how a lock is taken.
type take int

const (
	tryLock take = iota
	lockIt
	doIt
	seize
	adopt
	poolTry
	poolLock
	reset
	releaseID
	nTakes
	block // only where a plan puts it
)

func (t take) String() string {
	return [...]string{
		"TryLock", "Lock", "Do", "Seize", "Adopt", "pool TryLock", "pool Lock", "Reset",
		"ReleaseID", "", "Block",
	}[t]
}

// A turn is one attempt to take a lock, and what is done with it.
type turn struct {
	wait   time.Duration // before it
	take   take
	name   int
	opts   lock.MutexOptions
	limit  time.Duration // of its context
	cancel bool          // the context is cancelled rather than times out
	steps  []step
	end    ending
}

// A step is something done with a lease.
type step struct {
	wait  time.Duration
	what  deed
	d     time.Duration
	limit time.Duration // of its context
}

type deed int

const (
	nothing deed = iota
	extend
	extendBy
	renew
	check
	nDeeds
)

func (d deed) String() string {
	return [...]string{"nothing", "Extend", "ExtendBy", "Renew", "Check"}[d]
}

// An ending is how a lease is left.
type ending int

const (
	unlock     ending = iota
	unlockDead        // with a context that has ended
	unlockMany        // several times at once
	detach
	leave // to Close
)

func (e ending) String() string {
	return [...]string{"Unlock", "Unlock with a dead context", "Unlock three times", "Detach", "leave"}[e]
}

// A maker makes a plan.
type maker struct {
	*rand.Rand
	plan  *plan
	ttl   time.Duration // about what the leases have
	tight bool          // actors do little else than to pass the lock on
}

func newPlan(seed uint64) *plan {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0x5151)), plan: &plan{seed: seed}}
	p := m.plan
	p.names = 1 + m.IntN(2)
	p.calm = m.one(4)
	m.tight = m.one(2)
	m.ttl = pick(m, 100*time.Millisecond, 300*time.Millisecond, time.Second, 3*time.Second)
	latency := pick(m, 0, 0, time.Millisecond, 10*time.Millisecond)
	for range 2 + m.IntN(3) {
		p.clients = append(p.clients, m.client(latency))
	}
	m.namesakes()
	if !p.calm {
		m.accidents()
		m.tails()
	}
	return p
}

// one is true once in n times.
func (m *maker) one(n int) bool { return m.IntN(n) == 0 }

func pick[T any](m *maker, from ...T) T { return from[m.IntN(len(from))] }

// upTo is a random duration, more often short than long.
func (m *maker) upTo(d time.Duration) time.Duration {
	return time.Duration(m.Float64() * m.Float64() * float64(d))
}

func (m *maker) client(latency time.Duration) clientPlan {
	c := clientPlan{latency: latency, keep: m.one(8)}
	if m.one(12) {
		c.close = m.upTo(10 * m.ttl)
	}
	for range 1 + m.IntN(2) {
		turns := make([]turn, 1+m.IntN(4))
		for i := range turns {
			turns[i] = m.turn()
		}
		c.actors = append(c.actors, turns)
	}
	return c
}

func (m *maker) turn() turn {
	t := turn{
		wait: m.upTo(2 * m.ttl), take: lockIt, name: m.IntN(m.plan.names),
		limit: m.upTo(min(12*m.ttl, 15*time.Second)) + 10*time.Millisecond, cancel: m.one(3),
	}
	t.opts.TTL = m.ttl
	if m.one(3) {
		t.opts.TTL = max(m.upTo(3*m.ttl), 60*time.Millisecond)
	}
	if m.tight {
		t.wait = m.upTo(m.ttl / 4)
	}
	if m.one(3) {
		t.take = take(m.IntN(int(nTakes)))
	}
	if t.take == seize && !m.one(3) || t.take == reset && !m.one(3) {
		t.take = tryLock
	}
	m.holds(&t)
	for range m.IntN(4) {
		t.steps = append(t.steps, m.step())
	}
	if t.end = unlock; m.one(4) {
		t.end = ending(m.IntN(int(leave) + 1))
	}
	if t.end == leave && !m.one(4) {
		t.end = unlockMany
	}
	return t
}

// holds chooses the rarer options.
func (m *maker) holds(t *turn) {
	o := &t.opts
	if m.one(6) {
		o.NoRenewal = true
	}
	if m.one(8) {
		o.MaxHold = 60*time.Millisecond + m.upTo(6*m.ttl)
	}
	if m.one(8) {
		o.HoldAtLeast = m.upTo(2 * m.ttl)
		if o.MaxHold != 0 {
			o.HoldAtLeast = min(o.HoldAtLeast, o.MaxHold)
		}
	}
	switch {
	case m.one(16) && !o.NoRenewal && (t.take <= doIt):
		o.TTL = lock.NoExpiry
	case m.one(10) && t.take <= lockIt:
		o.ID = pick(m, "given-a", "given-b")
	case m.one(3) && t.take == adopt:
		o.KeepID = true
	case m.one(16):
		o.NoFence = true
	}
}

func (m *maker) step() step {
	s := step{wait: m.upTo(2 * m.ttl), what: deed(m.IntN(int(nDeeds))), limit: 5 * time.Second}
	if m.tight {
		s.wait = m.upTo(m.ttl / 2)
	}
	if m.one(3) {
		s.wait += m.upTo(3 * m.ttl)
	}
	s.d = max(m.upTo(3*m.ttl), 60*time.Millisecond)
	if m.one(4) {
		s.limit = m.upTo(m.ttl)
	}
	return s
}
