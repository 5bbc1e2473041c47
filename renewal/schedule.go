package renewal

import "time"

const (
	maxPause  = 200 * time.Millisecond // before a failed attempt is repeated; at least a tenth of it
	maxEase   = 2 * time.Second        // the same for a permanent term; at least half of it
	maxAgains = 3                      // in a row without a pause
)

// nextDueLocked is when to renew the term if nothing fails. The interval counts from the last
// confirmed send, by the larger of both clocks: what the machine slept since is over.
//
// After a Retime to more that was not confirmed the lease runs out earlier than the new TTL makes
// believe. Half of the way to there is the latest.
//
// MaxHold does not count here. No renewal moves it, so half of the way to it would be half of that
// the next time, and so on without an end.
func (t *Term[T]) nextDueLocked(now Instant) time.Time {
	wait := interval(t.ttl, t.margin)
	if !t.lease.never {
		wait = min(wait, t.lease.mono.Sub(t.confirmed.mono)/2)
	}
	return t.confirmed.mono.Add(wait - max(ahead(t.confirmed, now), 0))
}

// scheduleLocked queues a live term for renewal at due, if it is to be renewed and no batch carries
// it. What a batch carries is queued when its result is in. Otherwise two batches might carry it, and
// End would know only the last.
func (t *Term[T]) scheduleLocked(due time.Time, now Instant) {
	if t.noRenewal || t.carrier != nil {
		return
	}
	t.set.queue.remove(&t.place)
	t.set.queue.push(&t.place, t.ttl, due)
	t.set.wakeLocked(due, now)
}

// againLocked queues t at once. A store that answers Again for ever must not make the goroutine
// spin. So every one after the third in a row waits as a failure does.
func (t *Term[T]) againLocked(now Instant, jitter float64) {
	due := now.mono
	if t.agains++; t.agains > maxAgains {
		due = due.Add(t.pauseLocked(jitter))
	}
	t.scheduleLocked(due, now)
}

// pauseLocked is how long t waits after a failure: 20 to 200 ms, or less where half the renewal
// interval is. A permanent term loses nothing by it and waits 1 to 2 s. The jitter is drawn once per
// batch, so that what failed together is sent together.
func (t *Term[T]) pauseLocked(jitter float64) time.Duration {
	half := interval(t.ttl, t.margin) / 2
	longest := min(maxPause, half)
	shortest := longest / 10
	if t.lease.never {
		longest = min(maxEase, half)
		shortest = longest / 2
	}
	return shortest + time.Duration(jitter*float64(longest-shortest))
}

// wakeLocked sees to it that the goroutine looks at the queue at due at the latest, and at least once
// a day. While the goroutine is busy the alarm does not matter: it looks at the queue, under the
// mutex, before it sleeps.
func (s *Set[T]) wakeLocked(due time.Time, now Instant) {
	if s.alarmAt.IsZero() || due.Before(s.alarmAt) {
		s.alarmAt = due
		s.alarm.Reset(min(due.Sub(now.mono), maxTimer))
	}
}
