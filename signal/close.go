package signal

import (
	"errors"
	"math/rand/v2"
	"time"
)

// ErrClosed is the error of waiting in a hub that was stopped.
var ErrClosed = errors.New("signal: the hub is closed")

// Stop refuses new waiters and ends the waiting of all others with [ErrClosed]. It does not block.
func (h *Hub) Stop() {
	h.mu.Lock()
	if h.stoppedLocked() {
		h.mu.Unlock()
		return
	}
	h.enterPhaseLocked(hubStopped)
	h.cancel() // wakes the waiters, and the goroutines that pause
	// Who blocks in the store is called back. To cut the link would be faster, and could lose a
	// signal that is on its way.
	var blocked []*conn
	for _, c := range h.conns {
		if c.callLocked() {
			blocked = append(blocked, c)
		}
	}
	h.mu.Unlock()
	for _, c := range blocked {
		h.call(c)
	}
}

// Close stops the hub, gives back the signals that nobody used and closes the connections. It waits
// for all that, at most for the limit. Then it cuts the connections off and waits for their
// goroutines, at most for one operation. Waiters should have left before: what they give back later
// is lost.
func (h *Hub) Close(limit time.Duration) {
	h.Stop()
	h.mu.Lock()
	h.enterPhaseLocked(hubClosing)
	h.mu.Unlock()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-h.ended:
	case <-t.C: // a call got lost, or the store does not answer
		h.cut()
		<-h.ended
	}
}

// cut closes all connections under their readers, and gives nothing back any more. A reader that is
// dialling meanwhile finds the hub stopped before it blocks, and closes what it made.
func (h *Hub) cut() {
	h.mu.Lock()
	h.enterPhaseLocked(hubCutOff)
	clear(h.back)
	var links []Conn
	for _, c := range h.conns {
		if c.link != nil {
			links = append(links, c.link)
		}
	}
	h.mu.Unlock()
	// Their readers may close them at the same time.
	for _, link := range links {
		link.Close()
	}
}

// enterLocked brings the hub at least to the phase, and to its end if nothing runs.
func (h *Hub) enterPhaseLocked(p hubPhase) {
	h.phase = max(h.phase, p)
	h.endLocked()
}

// exit is the last thing that one of the hub's goroutines does.
func (h *Hub) exit() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	h.endLocked()
}

// endLocked ends the hub if it is closed and nothing runs. Nothing can start from then on: a
// goroutine that runs may start another one, and waiters may not in this phase.
func (h *Hub) endLocked() {
	if h.phase >= hubClosing && h.phase < hubOver && h.running == 0 {
		h.phase = hubOver
		close(h.ended)
	}
}

// stopped reports whether the hub was stopped. It takes no mutex.
func (h *Hub) stopped() bool {
	select {
	case <-h.stop:
		return true
	default:
		return false
	}
}

// pause waits between two attempts, 20 to 200 ms. It returns false at once when the hub is stopped.
// The time is random so that clients that lost the same store do not come back all at once.
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
