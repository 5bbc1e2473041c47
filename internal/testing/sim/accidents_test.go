package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// accidents fills in what happens to the clients.
func (m *maker) accidents() {
	p := m.plan
	p.late, p.back, p.forgetful = m.one(3), m.one(5), false
	if !p.back {
		p.forgetful = m.one(5)
	}
	span := min(12*m.ttl, 12*time.Second)
	for range 1 + m.IntN(6) {
		w := window{client: m.whom(), from: m.upTo(span), what: trouble(m.IntN(int(hang) + 1))}
		w.to = w.from + m.upTo(max(3*m.ttl, 3*time.Second)) + time.Millisecond
		if w.what == pause {
			w.to += m.ttl
		}
		w.late = p.late
		p.windows = append(p.windows, w)
		p.end = max(p.end, w.to)
	}
	for range m.IntN(6) {
		m.incident(span)
	}
	m.slowThenSilent(span)
	m.drift()
	m.strays(span)
	slices.SortStableFunc(p.incidents, func(a, b incident) int { return int(a.at - b.at) })
}

func (m *maker) whom() int {
	if m.one(4) {
		return everybody
	}
	return m.IntN(len(m.plan.clients))
}

func (m *maker) incident(span time.Duration) {
	p := m.plan
	in := incident{client: m.whom(), at: m.upTo(span), what: mishap(m.IntN(int(clock) + 1))}
	switch {
	case in.what == cutBytes:
		in.client, in.after, in.down = m.IntN(len(p.clients)), m.IntN(600), m.one(2)
	case in.what == wipe && !p.forgetful:
		in.what = restart
	case in.what == clock && p.forgetful:
		in.step = m.upTo(2 * m.ttl)
	case in.what == clock && p.back:
		in.step = -m.upTo(pick(m, m.ttl, 10*time.Second))
	case in.what == clock:
		in.what = cut
	}
	if in.what == restart || in.what == wipe {
		p.windows = append(p.windows, window{
			client: everybody, from: in.at, to: in.at + m.upTo(2*time.Second), what: refuse,
		})
		in.client = everybody
	}
	p.incidents = append(p.incidents, in)
	p.end = max(p.end, in.at+2*time.Second)
}

// own returns a maker with its own source of chance, so that what is added to the plans leaves the rest
// of them as it was.
func (m *maker) own(stream uint64) *maker {
	return &maker{Rand: rand.New(rand.NewPCG(m.plan.seed, stream)), plan: m.plan, ttl: m.ttl}
}

// slowThenSilent adds replies that are late, but not too late to count, and nothing after them: what
// shows from when a deadline is counted.
func (m *maker) slowThenSilent(span time.Duration) {
	own := m.own(0x5152)
	if !own.one(3) {
		return
	}
	slow := window{client: own.IntN(len(m.plan.clients)), from: own.upTo(span), what: holdDown}
	slow.to = slow.from + m.ttl/10 + time.Duration(own.Float64()*float64(m.ttl/15))
	silent := window{client: slow.client, from: slow.to + time.Nanosecond, what: pause}
	silent.to = silent.from + 2*m.ttl
	m.plan.windows = append(m.plan.windows, slow, silent)
	m.plan.end = max(m.plan.end, silent.to)
}

// maxRate is by how much the clocks may differ: less than the 5 % that the margin is there for.
const maxRate = 0.045

// drift lets the store's clock run faster or slower than the clients'. That is as if theirs ran slower
// or faster, since nothing but the store brings them together.
func (m *maker) drift() {
	if own := m.own(0x5153); own.one(3) {
		m.plan.rate = (2*own.Float64() - 1) * maxRate
	}
}

// strays adds commands that are executed after their connection broke, and so after they were sent
// again on another one.
func (m *maker) strays(span time.Duration) {
	own := m.own(0x5154)
	if !own.one(6) {
		return
	}
	p := m.plan
	p.late = true
	for range 1 + own.IntN(4) {
		client := own.IntN(len(p.clients))
		at := own.upTo(span) + time.Millisecond
		from := max(at-own.upTo(300*time.Millisecond), 0)
		in := incident{client: client, at: at, what: stray, step: own.upTo(lateBy)}
		p.incidents = append(p.incidents, in)
		p.windows = append(p.windows, window{client: client, from: from, to: at + 1, what: holdUp})
		p.end = max(p.end, at+2*time.Second)
	}
	for _, c := range p.clients { // what stays behind shall be seen: it must stay for long enough
		for _, turns := range c.actors {
			for i := range turns {
				if o := &turns[i].opts; o.TTL != lock.NoExpiry && own.one(2) {
					o.TTL = 20 * time.Second
				}
			}
		}
	}
}

// namesakes lets everybody take the locks under one id, and sometimes reset them: so that leases are
// told apart by nothing but their fencing tokens.
func (m *maker) namesakes() {
	own := m.own(0x5155)
	if !own.one(10) {
		return
	}
	for _, c := range m.plan.clients {
		for _, turns := range c.actors {
			for i := range turns {
				t := &turns[i]
				switch {
				case t.take > lockIt || t.opts.TTL == lock.NoExpiry:
				case own.one(4):
					t.take, t.opts.ID = reset, ""
				default:
					t.opts.ID, t.opts.NoFence, t.opts.NoRenewal = "given-a", false, false
				}
			}
		}
	}
}
