package engine

import (
	"context"
	"sync"
)

// An End ends a context of a lease. It does not refer to the lease, so that a program that dropped
// both the lease and the context is noticed. The lease refers to it, so that whoever kept nothing
// but the context's Done channel is told.
type End struct {
	inner context.Context
	stop  context.CancelCauseFunc
}

// contexts are those that end with a lease. The zero value has none.
type contexts struct {
	mu    sync.Mutex // guards the fields below
	live  map[*End]struct{}
	prune int  // at so many contexts those that have ended are looked for
	over  bool // they were told
}

// add has a context told of the end. It returns false if that has been. The mutex decides between
// the two, so no context is forgotten: what end does not find here, add refuses.
func (c *contexts) add(e *End) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	if c.live == nil {
		c.live = make(map[*End]struct{})
	}
	c.live[e] = struct{}{}
	if len(c.live) > c.prune { // those whose parents ended are left behind
		for e := range c.live {
			if e.inner.Err() != nil {
				delete(c.live, e)
			}
		}
		c.prune = max(2*len(c.live), 16)
	}
	return true
}

// remove ends a context that nobody needs any more.
func (c *contexts) remove(e *End) {
	e.stop(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, e)
}

// end tells all contexts, and those that are added later are not told. It tells them without the
// mutex: what hangs on a context (context.AfterFunc, say) may call remove.
func (c *contexts) end(err error) {
	c.mu.Lock()
	c.over = true
	live := c.live
	c.live = nil
	c.mu.Unlock()
	for e := range live {
		e.stop(err)
	}
}
