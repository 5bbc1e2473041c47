package signal

// A reader is the goroutine of a connection that reads signals. Its dialer and the link are used by
// it alone, but for Hub.Close, which may cut the link.
type reader struct {
	*conn
	hub    *Hub
	dialer Dialer
}

// connect makes the link if it is not there. Its names are looked at then: what became of them
// while nobody read their signals is not known.
func (r *reader) connect() error {
	if r.link != nil {
		return nil
	}
	link, err := r.dialer.Dial()
	if err != nil {
		return err
	}
	r.hub.mu.Lock()
	r.link = link // from now on Close can cut it
	r.hub.mu.Unlock()
	select { // the watcher may not have taken the last one: a look at all names serves for both
	case r.fresh <- struct{}{}:
	default:
	}
	return nil
}

// drop closes the link. If that broke in a read, a signal may have gone down with it: there is no
// telling whether the store had sent one.
func (r *reader) drop() {
	h := r.hub
	h.mu.Lock()
	link := r.link
	r.link = nil
	for _, name := range r.reads {
		h.doubtLocked(name)
	}
	r.reads = nil
	h.mu.Unlock()
	if link != nil {
		link.Close() // without the mutex: it may block
	}
}

// degrade goes on without blocking reads. The refusal is the store's, so it is for all connections,
// and for good. One whose read is under way goes on with it.
func (r *reader) degrade(err error) {
	r.hub.mu.Lock()
	first := !r.hub.degraded
	r.hub.degraded = true
	r.hub.mu.Unlock()
	if first {
		r.hub.options.degraded(err)
	}
}
