package lock

import (
	"strings"
	"sync"
)

// pools keeps what a client has heard of the pools that it waits for.
type pools struct {
	mu    sync.Mutex // guards the fields below
	known map[string]*poolNote
	// free is what the last signal of a pool said: which member was released. It is taken once, and may
	// be wrong by then. A signal can be read when the last waiter has left; it is given back then.
	free map[string]string
}

// A poolNote is kept for as long as somebody waits for the pool.
type poolNote struct {
	waiting int
	key     string
	members []string // as the last acquire asked for them; nil if none did
}

// join begins to keep notes of a pool. The caller calls leave after it.
func (p *pools) join(name, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[name] == nil {
		if p.known == nil {
			p.known = make(map[string]*poolNote)
		}
		p.known[name] = &poolNote{key: key}
	}
	p.known[name].waiting++
}

func (p *pools) leave(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[name].waiting--; p.known[name].waiting == 0 {
		delete(p.known, name)
	}
}

// know keeps which members were asked for.
func (p *pools) know(name string, members []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if note := p.known[name]; note != nil {
		note.members = members
	}
}

// of returns what is known of a pool; nothing if nobody waits for it.
func (p *pools) of(name string) poolNote {
	p.mu.Lock()
	defer p.mu.Unlock()
	if note := p.known[name]; note != nil {
		return *note
	}
	return poolNote{}
}

// signalled keeps what a signal said. Those that name no member say 1.
func (p *pools) signalled(name, text string) {
	if text == "1" || len(text) > maxName || !strings.HasSuffix(name, "}/") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == nil {
		p.free = make(map[string]string)
	}
	p.free[name] = text
}

// take returns what the last signal said, once; "" for nothing.
func (p *pools) take(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.free[name]
	delete(p.free, name)
	return free
}
