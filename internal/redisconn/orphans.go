package redisconn

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxOrphans bounds the list: the oldest goes.
	maxOrphans = 256
	// orphanLife is how long after its close a connection can do harm. The kernel has given up
	// sending by then, and no blocking read of ours lasts longer.
	orphanLife = 2 * time.Minute
	// succession is how long an orphan waits for a connection that is made anyway.
	succession = time.Second
)

// A session is how a server knows a connection. It names a connection for good: a server gives no
// id twice while it runs, and each run of a server has an id of its own.
type session struct {
	id  int64  // of CLIENT ID; 0: not known
	run string // the server's run_id; "": not known
}

func (s session) known() bool { return s.id > 0 && s.run != "" }

// An entry is what the orphans know of a connection that is open.
type entry struct {
	session session // guarded by the orphans' mu until enter has returned; then it does not change
	gone    bool    // the connection was closed; guarded by the orphans' mu
}

// orphans are the connections that were given up with something under way.
//
// To close a connection is not the end of what was written on it. The kernel goes on sending: after
// a cut of ten seconds, a command can be executed ten seconds after the network is well. A blocking
// read that Redis does not know to be over takes the next signal with it. So each new connection
// first sends CLIENT KILL for the orphans that the same run of the server knows. What comes later
// of them is not read by the server any more.
//
// A session is on the list before its connection's Close returns. Whoever dials because of that
// Close finds the session there.
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
	// elsewhere: another run of the server has answered since. Mostly the orphan's run is over
	// then. But where two servers take turns behind one address, its connection may yet be killed.
	elsewhere bool
}

// enter takes note of a new connection's session. The entry's session stays unknown if another
// connection has the same one, or had it when it was given up. Then a proxy puts us on connections
// that others use as well, and from then on nothing is killed.
func (o *orphans) enter(e *entry, s session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.live[s] || slices.ContainsFunc(o.list, func(x orphan) bool { return x.session == s }) {
		o.shared, o.list = true, nil
	}
	// Close may have come during the greeting: nobody would take such an entry from live again.
	if o.shared || e.gone || !s.known() {
		return
	}
	if o.live == nil {
		o.live = make(map[session]bool)
	}
	o.live[s] = true
	e.session = s
}

// leave takes note that a connection was closed, and whether something was under way on it. It
// returns true if an orphan is left for which the caller must start a reaper.
func (o *orphans) leave(e *entry, inFlight bool) (reap bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.gone = true
	delete(o.live, e.session)
	if o.shared || !e.session.known() || !inFlight {
		return false
	}
	if len(o.list) == maxOrphans {
		o.list = slices.Delete(o.list, 0, 1)
	}
	o.list = append(o.list, orphan{session: e.session, since: time.Now()})
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

// reap has connections made for orphans that no other connection came for. Their owners may need
// none any more, and a blocking read that is left would take a signal from those who wait
// elsewhere. reap returns when no orphan is left that matters, or when ctx ends.
func (o *orphans) reap(ctx context.Context, connect func()) {
	for pause(ctx, succession, nil) && o.matter() {
		connect()
	}
}

// matter reports whether an orphan is left for which a connection should be made. If not, the
// reaper ends. That is decided under mu, so that leave starts a reaper for the next orphan.
func (o *orphans) matter() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reaping = !o.refused && slices.ContainsFunc(o.list, func(x orphan) bool {
		return !x.elsewhere && time.Since(x.since) < orphanLife
	})
	return o.reaping
}
