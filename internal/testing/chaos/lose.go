package chaos

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
)

// In a storm one more lock is handed over from client to client, and signals get lost: right before a
// release those fall silent who would be woken by it. Some who wait for it as well are never harmed, and
// must find it free by a look.
const (
	lossy    = "chaos-lossy"
	unharmed = 2 // clients that have no faults of their own; they run programs, too
	victims  = 4 // clients that lose signals, and have no other faults

	lossyTTL  = 20 * time.Second      // so long that nobody finds it free by the holder's time
	lossyHold = 20 * time.Millisecond // leaves the processors to the others
	// silence is for how long victims are kept from the lock while nobody takes it: for longer than it may
	// be free.
	silence = 2 * longestGap
)

// AllClients returns how many clients a run has, but for those of processes.
func (c Config) AllClients() int { return c.Clients + unharmed + victims }

// lossyRelay makes the seats and the relay.
func (r *run) lossyRelay() {
	r.lossy = newRelay(lossy)
	r.lossy.ttl, r.lossy.hold = lossyTTL, lossyHold
	for i := range unharmed + victims {
		s := r.seat(r.cfg.Clients + r.cfg.Processes + i)
		r.seats = append(r.seats, s)
		if s.unharmed = i < unharmed; s.unharmed {
			r.unharmed = append(r.unharmed, s.index)
			r.workers = append(r.workers, r.worker(s))
		} else {
			r.lossy.victims = append(r.lossy.victims, s)
		}
		r.losers = append(r.losers, r.worker(s))
	}
}

// lose releases a lock. If a victim is next, all others of them fall silent before, until somebody has
// the lock, which closes next.
func (w *worker) lose(r *relay, next, stop <-chan struct{}, release func()) {
	r.losing.Lock()
	defer r.losing.Unlock()
	struck := slices.DeleteFunc(slices.Clone(r.victims), func(s *seat) bool { return s == w.seat })
	first := r.first()
	if over(stop) || !slices.Contains(struck, first) || chance(w.random, 30) {
		release()
		return
	}
	kind, strike := "signal dropped", dropSignals
	if chance(w.random, 50) {
		kind, strike = "signal cut off", cutSignals
	}
	from := w.run.now()
	r.silent.Store(int64(from))
	defer r.silent.Store(0)
	for _, s := range struck {
		strike(s.proxy)
	}
	release()
	await(stop, next, silence)
	for _, s := range struck {
		s.proxy.Heal()
		w.run.fault(Fault{Kind: kind, Client: s.index, From: from, To: w.run.now()})
	}
	r.sendBack(struck)
}

// late reports whether nobody has taken the lock for longer than it is until the next look. Then Redis is
// left alone: a connection that breaks lets its client ask, which would hide that there was no look.
func (r *relay) late(now time.Duration) bool {
	since := time.Duration(r.silent.Load())
	return since != 0 && now-since > look
}

// dropSignals swallows everything. The client notices it some time later.
func dropSignals(p *faultproxy.Proxy) { p.Partition("") }

// cutSignals lets the reply to a BLPOP be the end of its connection, and nothing else get through.
func cutSignals(p *faultproxy.Proxy) {
	p.Refuse(true)
	p.Set(faultproxy.ToServer, faultproxy.Drop, "")
	p.Cut(faultproxy.ToClient, 0, "BLPOP")
}

// first returns who has waited for longest, or nil.
func (r *relay) first() *seat {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.line) == 0 {
		return nil
	}
	return r.line[0].seat
}

// sendBack puts those who were silent behind all others, where Redis sees them when they are back.
func (r *relay) sendBack(struck []*seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.line, func(a, b *place) int {
		switch back := slices.Contains(struck, a.seat); {
		case back == slices.Contains(struck, b.seat):
			return 0
		case back:
			return 1
		default:
			return -1
		}
	})
}

// handOn takes part in the lossy relay until stop is closed. Who has had the lock stays away until somebody
// else has it, however long that takes: it would find it free when it comes back.
func (w *worker) handOn(r *relay, stop <-chan struct{}) {
	for !over(stop) {
		await(stop, w.runWith(r, stop), patience)
	}
}
