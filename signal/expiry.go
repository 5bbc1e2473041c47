package signal

import "time"

// longestTimer bounds how far ahead a timer is set. What is further ahead is looked at anew then.
const longestTimer = 24 * time.Hour

// learnLocked takes in how long the name is still held. It was asked at asked and is now. What was
// asked before a head heard its answer is older news than the answer. It may only bring the expiry
// nearer: a head that asks too early does no harm, and one that sleeps too long does.
func (e *entry) learnLocked(left Left, asked, now time.Time) {
	d, timed := left.Time()
	switch {
	case left == Free, left == Foreign:
		e.askLocked()
	case left == Forever && !asked.Before(e.heard):
		e.expires = time.Time{}
		e.timer.Stop()
	case timed:
		expires := now.Add(d + time.Millisecond) // a key is gone when its last millisecond is over
		if asked.Before(e.heard) && !e.expires.IsZero() && expires.After(e.expires) {
			return
		}
		e.expires = expires
		e.timer.Reset(min(expires.Sub(now), longestTimer))
	}
}

// expireLocked is what the timer calls, perhaps late. The expiry may have been moved as the timer
// fired, or lies more than a day ahead. Then the timer is set anew.
func (e *entry) expireLocked() {
	if e.expires.IsZero() {
		return
	}
	if left := time.Until(e.expires); left > 0 {
		e.timer.Reset(min(left, longestTimer))
		return
	}
	e.expires = time.Time{}
	e.askLocked()
}
