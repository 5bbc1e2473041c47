package engine

import "sync"

// A gate counts those inside, lets nobody in any more once it is shut, and tells when it is empty.
// Its zero value is open.
type gate struct {
	mu     sync.Mutex // guards the fields below
	inside int
	shut   bool
	empty  chan struct{} // made by close; closed when shut and nobody is inside
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.shut && g.inside == 0 {
		close(g.empty)
	}
}

// close shuts the gate and returns a channel that is closed when nobody is inside.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.shut = true
		g.empty = make(chan struct{})
		if g.inside == 0 {
			close(g.empty)
		}
	}
	return g.empty
}
