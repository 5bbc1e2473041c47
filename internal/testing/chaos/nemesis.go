package chaos

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
)

// A nemesis makes the faults of one client.
type nemesis struct {
	run    *run
	seat   *seat
	random *rand.Rand
}

// rage makes one fault after the other until stop is closed. In the end all is healed.
func (n *nemesis) rage(stop <-chan struct{}) {
	ttl := n.run.cfg.TTL
	for wait(stop, upTo(n.random, ttl)) {
		kind, strike := n.choose()
		f := Fault{Kind: kind, Client: n.seat.index, From: n.run.now()}
		caught := strike()
		longest := 2 * ttl
		if chance(n.random, 25) || caught != nil {
			longest = 8 * ttl
		}
		if caught != nil {
			await(stop, caught.Done(), longest)
		}
		more := wait(stop, ttl/10+upTo(n.random, longest))
		if kind == "hold then drop" && more {
			n.seat.proxy.Partition("")
			wait(stop, upTo(n.random, ttl))
		}
		n.seat.proxy.Heal()
		f.To = n.run.now()
		n.run.fault(f)
	}
}

// wait waits, and returns false if stop was closed.
func wait(stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}

// await waits until one of the channels is closed, or for d.
func await(stop, done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
	case <-done:
	case <-timer.C:
	}
}

// A striker begins a fault, and returns what it is to catch, or nil.
type striker func() *faultproxy.Catch

// choose chooses a fault. Replies are held most: it is they that can make a client believe for too long.
func (n *nemesis) choose() (kind string, strike striker) {
	p := n.seat.proxy
	plain := func(strike func()) striker {
		return func() *faultproxy.Catch { strike(); return nil }
	}
	set := func(d faultproxy.Direction, f faultproxy.Fault) striker {
		return plain(func() { p.Set(d, f, "") })
	}
	catch := func(f faultproxy.Fate, texts ...string) striker {
		return func() *faultproxy.Catch { return p.Catch(f, append(texts, "EVALSHA", "lock:")...) }
	}
	faults := []struct {
		kind   string
		strike striker
	}{
		{"hold replies", set(faultproxy.ToClient, faultproxy.Hold)},
		{"hold replies", set(faultproxy.ToClient, faultproxy.Hold)},
		{"hold replies", set(faultproxy.ToClient, faultproxy.Hold)},
		{"hold requests", set(faultproxy.ToServer, faultproxy.Hold)},
		{"hold then drop", set(faultproxy.ToServer, faultproxy.Hold)},
		{"drop replies", set(faultproxy.ToClient, faultproxy.Drop)},
		{"drop requests", set(faultproxy.ToServer, faultproxy.Drop)},
		{"partition", plain(func() { p.Partition("") })},
		{"reset", plain(func() { p.Reset("") })},
		{"reset waits", plain(func() { p.Reset("BLPOP") })},
		{"delay replies", plain(func() { p.Delay(faultproxy.ToClient, upTo(n.random, n.run.cfg.TTL/2), "") })},
		{"delay requests", plain(func() { p.Delay(faultproxy.ToServer, upTo(n.random, n.run.cfg.TTL/2), "") })},
		{"cut replies", plain(func() { p.Cut(faultproxy.ToClient, n.random.Int64N(300), "") })},
		{"cut requests", plain(func() { p.Cut(faultproxy.ToServer, n.random.Int64N(1000), "") })},
		{"hold a reply", catch(faultproxy.HoldReply)},
		{"hold a grant", catch(faultproxy.HoldReply, scripts.Acquire.SHA1)},
		{"hold a request", catch(faultproxy.HoldRequest)},
		{"lose a reply", catch(faultproxy.CutReply)},
		{"lose a request", catch(faultproxy.CutRequest)},
		{"refuse", plain(func() { p.Refuse(true); p.Reset("") })},
	}
	f := pick(n.random, faults)
	return f.kind, f.strike
}

// torment makes the faults of the server until the time is over. It runs on the test's own goroutine,
// which may end the test.
func (r *run) torment(d time.Duration) {
	ttl, end := r.cfg.TTL, time.Now().Add(d)
	for rest := time.Until(end); rest > 0; rest = time.Until(end) {
		wait(nil, min(rest, ttl/2+upTo(r.random, 600*time.Millisecond)))
		if r.lossy.late(r.now()) {
			continue
		}
		f := Fault{Client: -1, From: r.now()}
		switch r.random.IntN(4) {
		case 0, 1:
			f.Kind = "server stopped"
			r.server.Stop(r.t)
			wait(nil, ttl/10+upTo(r.random, ttl*5/4))
			r.server.Continue(r.t)
		case 2:
			f.Kind = "clients killed"
			r.kill()
		default:
			_, _ = r.command("SCRIPT", "FLUSH") // nobody is to notice
			continue
		}
		f.To = r.now()
		r.fault(f)
	}
}

// kill ends about half of the library's connections, but those of the clients that are not harmed.
func (r *run) kill() {
	list, err := redis.String(r.command("CLIENT", "LIST"))
	if err != nil {
		r.seen("CLIENT LIST: %v", err)
	}
	spared := connections(list, unharmedLabel)
	for _, id := range connections(list, "") {
		if chance(r.random, 50) && !slices.Contains(spared, id) {
			_, _ = r.command("CLIENT", "KILL", "ID", id) // it may be gone
		}
	}
}
