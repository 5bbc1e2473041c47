package engine

import "sync"

// A gate counts those inside, lets nobody in any more once it is shut, and tells when it is empty.
// Its zero value is open. A sync.WaitGroup does not do: its first Add must not run beside its Wait.
type gate struct {
	mu     sync.Mutex // guards the fields below
	inside int
	shut   bool
	empty  chan struct{} // made by close; closed when shut and nobody is inside
}

// enter lets one in, or returns false once the gate is shut. leave must follow each success.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.inside++
	return true
}

// leave lets one out. The last one to leave a gate that is shut tells so, and nobody enters after
// that: empty is closed once.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.shut && g.inside == 0 {
		close(g.empty)
	}
}

// close shuts the gate and returns a channel that is closed when nobody is inside. Every call
// returns the same channel: Shutdown and Close may both wait.
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
