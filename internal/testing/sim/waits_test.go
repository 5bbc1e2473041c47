package sim

import (
	"time"
)

// A waiting is a call of Lock under way.
type waiting struct {
	place  string
	client int
	since  time.Duration
}

// waitsFor begins a waiting.
func (w *world) waitsFor(place string, client int) *waiting {
	wait := &waiting{place, client, w.elapsed()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits[wait] = true
	return wait
}

// waited ends it; nil is none.
func (w *world) waited(wait *waiting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waits, wait)
}

// well, with w.mu held, returns since when a client has had no accident; ok is false while it has one.
func (w *world) well(client int) (since time.Duration, ok bool) {
	now := w.elapsed()
	if since = w.dialling[client]; since > now {
		return 0, false
	}
	for i := range w.plan.windows {
		win := &w.plan.windows[i]
		if win.client != everybody && win.client != client || win.from > now {
			continue
		}
		if win.to > now {
			return 0, false
		}
		since = max(since, win.to)
	}
	for i := range w.plan.incidents {
		in := &w.plan.incidents[i]
		if in.what == cutBytes && in.at <= now && in.client == client {
			return 0, false // it may come any time
		}
		if in.at <= now && (in.client == everybody || in.client == client) {
			since = max(since, in.at)
		}
		if in.what == stray && in.at <= now {
			since = max(since, in.at+in.step) // then what it sent is executed
		}
	}
	return since, true
}

// A gap is how a place stands that can be waited for.
type gap struct {
	free   bool
	since  time.Duration // since when it is seen free
	signal bool          // it was released by Unlock then
	grants int
	told   bool
}

// watchWaits looks for locks that are free while somebody waits.
func (w *world) watchWaits(stop <-chan struct{}) {
	every := 100 * time.Millisecond
	gaps := map[string]*gap{"n0": {}, "n1": {}, poolPlace: {}}
	last := w.elapsed()
	for {
		t := time.NewTimer(every)
		select {
		case <-stop:
			t.Stop()
			return
		case <-t.C:
		}
		w.setClock()
		for place, g := range gaps {
			w.look(place, g, last)
		}
		last = w.elapsed()
	}
}

// look looks at one place; last is when it was looked at before.
func (w *world) look(place string, g *gap, last time.Duration) {
	names := []string{place}
	if place == poolPlace {
		names = []string{place + "/m1", place + "/m2"}
	}
	free := false
	for _, name := range names {
		w.lookForOrphan("lock:" + name)
		w.lookForGhost("lock:" + name)
		free = free || !w.redis.Exists("lock:"+name)
	}
	now := w.elapsed()
	w.mu.Lock()
	grants := 0
	for _, name := range names {
		grants += w.grants[name]
	}
	released, ok := w.releases[place]
	if !free || !g.free || grants != g.grants {
		*g = gap{free: free, since: now, grants: grants, signal: ok && released >= last && len(names) == 1}
	}
	var longest *waiting
	var took time.Duration
	for wait := range w.waits {
		well, ok := w.well(wait.client)
		since := max(g.since, wait.since, well)
		if wait.place == place && ok && free && now-since > took {
			longest, took = wait, now-since
		}
	}
	w.mu.Unlock()
	if longest != nil && took > w.mostGap(g, longest) && !g.told {
		g.told = true
		w.violation("WAKE-UP: %s is free for %v, and client %d has waited since %v; released: %v", place,
			took, longest.client, longest.since, g.signal)
	}
}

// mostGap is for how long a lock may be seen free.
func (w *world) mostGap(g *gap, wait *waiting) time.Duration {
	trips := 40 * w.plan.clients[wait.client].latency
	switch {
	case !w.plan.calm:
		return time.Second + opLimit + trips + 200*time.Millisecond
	case g.signal && wait.since < g.since:
		return trips + 20*time.Millisecond
	}
	return time.Second + trips + 20*time.Millisecond
}
