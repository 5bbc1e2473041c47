package signal

import (
	"sync"
	"sync/atomic"
	"time"
)

// giveFor is how long the hub tries to give a signal back. Other hubs' waiters look by themselves
// every second. Those of other programs may depend on the signal.
const giveFor = 30 * time.Second

// giveBackLocked has a signal put back into the store. A goroutine does it: here the mutex is held,
// and the caller may be a waiter that leaves, which does not block.
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

// give gives back until nothing is left. It goes on after Stop for as long as the store answers. A
// hub that is closed must not take signals with it that it read for nobody.
func (h *Hub) give() {
	defer h.exit()
	for {
		batch := h.nextBack()
		if len(batch) == 0 {
			return
		}
		if !h.giveAll(batch) && !h.pause() { // stopped, and the store does not answer
			h.giveUp() // Close waits for this goroutine
		}
	}
}

// giveAll tries to give signals back, all at once. Signals are taken together, and those who wait
// for them elsewhere are not to wait for each other. It returns false if one of them is to be tried
// again.
func (h *Hub) giveAll(batch map[Name]*signalBack) bool {
	var again atomic.Bool
	var all sync.WaitGroup
	for name, signal := range batch {
		all.Go(func() { // ends with its call of the store
			err := h.store.GiveBack(name)
			// A refusal would be one again. What has failed for too long is given up.
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

// nextBack returns some names whose signals are to be given back, at most as many as share a
// connection. With none, the goroutine has ended. That is noted under the same mutex: the next
// signal finds a goroutine that will take it, or starts one.
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

// given forgets the signal. Another one for the same name, read meanwhile, stays: the one that was
// put back may have been taken by somebody before that.
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
