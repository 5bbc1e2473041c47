package redisconn

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// maxOrphans bounds the list: the oldest goes.
	maxOrphans = 256
	// orphanLife is how long after its close a connection can do harm. The kernel has given up sending by
	// then, and no blocking read of ours lasts longer.
	orphanLife = 2 * time.Minute
	// succession is how long an orphan waits for a connection that is made anyway.
	succession = time.Second
)

// orphans are the connections that were given up with something under way. To close one is not the end
// of what was written on it: the kernel goes on sending, and after a cut of ten seconds a command can
// be executed ten seconds after the network is well. A blocking read that Redis does not know to be
// over takes the next signal with it. So each new connection first sends CLIENT KILL for those that
// the same run of the server knows. What comes later of them is then not read any more.
//
// A session is on the list from before its connection's Close returns. Who dials because of that Close
// so finds it there.
type orphans struct {
	mu      sync.Mutex // guards the fields below
	list    []orphan   // oldest first
	live    map[session]bool
	shared  bool // a proxy showed several connections as one: to kill one would kill others
	refused bool // the last CLIENT KILL was refused
	reaping bool // the source's reaper runs
}

// An orphan is a connection that was given up.
type orphan struct {
	session
	since time.Time // when it was closed
	// elsewhere: another run of the server has answered since. Mostly this one is over then; but where
	// two servers take turns behind one address, its connection may yet be killed.
	elsewhere bool
}

// enter takes note of a new connection's session. It leaves the link's session unknown if another
// connection has the same one, or had it when it was given up: then a proxy puts us on connections that
// others use as well.
func (o *orphans) enter(link *Link, s session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.live[s] || slices.ContainsFunc(o.list, func(x orphan) bool { return x.session == s }) {
		o.shared, o.list = true, nil
	}
	if o.shared || link.gone || !s.known() {
		return
	}
	if o.live == nil {
		o.live = make(map[session]bool)
	}
	o.live[s] = true
	link.session = s
}

// leave takes note that a connection was closed. It reports whether that left an orphan for which
// somebody should come.
func (o *orphans) leave(link *Link) (reap bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := link.session
	link.gone = true
	delete(o.live, s)
	if o.shared || !s.known() || !link.inFlight.Load() {
		return false
	}
	if len(o.list) == maxOrphans {
		o.list = slices.Delete(o.list, 0, 1)
	}
	o.list = append(o.list, orphan{session: s, since: time.Now()})
	reap = !o.reaping && !o.refused
	o.reaping = o.reaping || reap
	return reap
}

// of returns the orphans that a connection's server knows.
func (o *orphans) of(s session) []orphan {
	o.mu.Lock()
	defer o.mu.Unlock()
	var known []orphan
	for i := range o.list {
		if o.list[i].run == s.run {
			known = append(known, o.list[i])
		} else {
			o.list[i].elsewhere = true
		}
	}
	return known
}

// killed takes the answered orphans from the list, or all of them if CLIENT KILL was refused.
func (o *orphans) killed(answered []session, refused bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused = refused
	o.list = slices.DeleteFunc(o.list, func(x orphan) bool {
		return refused || slices.Contains(answered, x.session)
	})
}

// killOrphans ends what is under way of the orphans, and returns when the server has done so. It does
// nothing where the connection does not know its session. Only a broken connection is an error, and
// a server that is of no use.
func (s *Source) killOrphans(link *Link, limit time.Duration) error {
	if !link.session.known() {
		return nil
	}
	victims := s.orphans.of(link.session)
	if len(victims) == 0 {
		return nil
	}
	cmds := make([]Command, len(victims))
	for i, victim := range victims {
		cmds[i] = Cmd("CLIENT", "KILL", "ID", victim.id)
	}
	replies, err := link.ask(limit, cmds)
	if err != nil {
		return err
	}
	var answered []session
	forbidden := false
	for i, reply := range replies {
		refused, ok := reply.(redis.Error)
		switch {
		case !ok || strings.Contains(string(refused), "No such client"):
			answered = append(answered, victims[i].session)
		case unusable(refused):
			return refused
		default: // a passing error leaves the orphan to the next connection
			forbidden = forbidden || Classify(refused) == Permanent
		}
	}
	s.orphans.killed(answered, forbidden)
	return nil
}

// lost takes note that a link was closed, before its Close returns.
func (s *Source) lost(link *Link) {
	s.links.Add(-1)
	if s.orphans.leave(link) && s.enter() {
		// Owned by the source; ends when no orphan is left that matters, or with Close, which waits.
		go s.reap()
	}
}

// reap makes a connection for the orphans that no other one came for: their owners may need none any
// more, and a blocking read that is left would take a signal from those who wait elsewhere.
func (s *Source) reap() {
	defer s.open.Done()
	for s.sleep(succession) {
		if !s.orphans.matter() {
			return
		}
		if link, err := s.paced(s.ctx, s.waits); err == nil {
			link.Close()
		}
	}
}

// matter reports whether an orphan is left for which a connection should be made; if not, the reaper
// ends.
func (o *orphans) matter() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reaping = !o.refused && slices.ContainsFunc(o.list, func(x orphan) bool {
		return !x.elsewhere && time.Since(x.since) < orphanLife
	})
	return o.reaping
}

// sleep returns false if the source was closed.
func (s *Source) sleep(d time.Duration) bool { return pause(s.ctx, d) }

// pause returns false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
