package signal

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// giveFor is how long the hub tries to give a signal back. Other hubs' waiters look by themselves
// every second; those of other programs may depend on the signal.
const giveFor = 30 * time.Second

// A signalBack is one signal that is to be given back.
type signalBack struct {
	until time.Time // when the hub stops trying
}

// giveBackLocked has a signal put back into the store.
func (h *Hub) giveBackLocked(name Name) {
	if h.phase >= hubCutOff {
		return
	}
	if h.back == nil {
		h.back = make(map[Name]*signalBack)
		h.running++
		go h.give() // owned by the hub; ends when nothing is left to give, or soon after Stop
	}
	h.back[name] = &signalBack{time.Now().Add(giveFor)}
}

func (h *Hub) give() {
	defer h.exit()
	for {
		batch := h.nextBack()
		if len(batch) == 0 {
			return
		}
		if !h.giveAll(batch) && !h.pause() { // stopped, and the store does not answer
			h.giveUp()
		}
	}
}

// giveAll tries to give signals back, all at once: signals are taken together, and those who wait for them
// elsewhere are not to wait for each other. It returns false if one of them is to be tried again.
func (h *Hub) giveAll(batch map[Name]*signalBack) bool {
	var again atomic.Bool
	var all sync.WaitGroup
	for name, signal := range batch {
		all.Go(func() { // ends with its call of the store
			err := h.store.GiveBack(name)
			if err == nil || h.store.Judge(err) != Passes || time.Now().After(signal.until) {
				h.given(name, signal)
			} else {
				again.Store(true)
			}
		})
	}
	all.Wait()
	return !again.Load()
}

// nextBack returns some names whose signals are to be given back, as many as share a connection at most.
// With none, the goroutine has ended.
func (h *Hub) nextBack() map[Name]*signalBack {
	h.mu.Lock()
	defer h.mu.Unlock()
	batch := make(map[Name]*signalBack)
	for name, signal := range h.back {
		if batch[name] = signal; len(batch) == roomPerConn {
			break
		}
	}
	if len(batch) == 0 {
		h.back = nil
	}
	return batch
}

// given forgets the signal. Another one for the same name, read meanwhile, stays.
func (h *Hub) given(name Name, signal *signalBack) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.back[name] == signal {
		delete(h.back, name)
	}
}

// giveUp forgets all signals.
func (h *Hub) giveUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.back)
}

// pause waits between two attempts, 20 to 200 ms. It returns false at once when the hub is stopped.
func (h *Hub) pause() bool {
	return h.sleep(20*time.Millisecond + rand.N(180*time.Millisecond))
}

// sleep waits for d. It returns false at once when the hub is stopped.
func (h *Hub) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-h.stop:
		return false
	}
}
