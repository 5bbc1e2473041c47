package lock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A janitor sees, in the background, to locks that nobody uses any more. It releases those that may be
// held after an acquire or a release whose outcome is not known; it lets those without expiry expire
// that were not released; and it gives a signal when one may be had that was kept for its minimum. It
// tries each until Redis answered, or until it does not matter any more, and comes back for what may be
// executed late. One goroutine does it all, and lives while there is something to do.
type janitor struct {
	store *store
	began time.Time
	stop  chan struct{} // closed by close
	kick  chan struct{} // one slot: a task came that may be due earlier

	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	tasks   []task
	busy    bool // the goroutine runs
	stopped bool
	// deadline, once stopped, is when everything must have ended.
	deadline time.Time
}

// A chore is what is to be done with a lock.
type chore int

const (
	toRelease    chore = iota
	toExpire           // if it is held still, give it a TTL
	toRepair           // give a signal if it is free
	toReleaseAny       // of a pool, whatever is held under the id
)

// chore returns how what is held as the ref says is released.
func (r lockRef) chore() chore {
	if len(r.anyOf) > 0 {
		return toReleaseAny
	}
	return toRelease
}

// A task is one lock to see to.
type task struct {
	lockRef
	chore chore
	due   time.Time
	until time.Time // when it does not matter any more: the key has expired by itself, say
	block bool      // it is the end of a Block that is to be signalled

	// Of a task that comes back for what may be executed late:
	since    time.Time     // when that was given up; zero: the task comes once
	life     time.Duration // how long the task matters after a visit
	answered time.Time     // when Redis first answered; zero: not yet
}

// visited reports whether a late task has been done, and only comes back.
func (t *task) visited() bool { return !t.answered.IsZero() }

// forEver is for tasks that are tried until the client is closed.
const forEver = 100 * 365 * 24 * time.Hour

func newJanitor(s *store) *janitor {
	return &janitor{
		store: s, began: time.Now(), stop: make(chan struct{}), kick: make(chan struct{}, 1),
	}
}

// add has a lock released at due. It does not block. What is added after close is dropped: the key
// expires.
func (j *janitor) add(ref lockRef, due, until time.Time) {
	j.addTask(task{lockRef: ref, chore: ref.chore(), due: due, until: until})
}

// release has a lock released from due on that may be held under an id that nobody uses: an acquire of
// it was given up at since, or repeated, and may be executed for some time.
func (j *janitor) release(ref lockRef, due, until, since time.Time) {
	j.addLate(task{lockRef: ref, chore: ref.chore(), due: due, until: until}, since)
}

// expire gives a lock without expiry a TTL, so that it is not held for ever. It comes back: a check that
// is under way on another connection may make the lock permanent once more.
func (j *janitor) expire(ref lockRef) {
	now := time.Now()
	j.addLate(task{lockRef: ref, chore: toExpire, due: now, until: now.Add(forEver)}, now)
}

func (j *janitor) addTask(t task) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped {
		return
	}
	if len(j.tasks) >= maxLate && !t.since.IsZero() {
		j.thinLocked()
	}
	if len(j.tasks) >= maxLate && t.isMinimum() && !j.roomLocked(t.due) {
		return
	}
	j.tasks = append(j.tasks, t)
	if !j.busy {
		j.busy = true
		j.running.Add(1)
		go j.run() // owned by the janitor; ends with the last task or soon after close, which waits
		return
	}
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// close lets every task be tried once more, now, and waits for that: at most until the deadline, at
// which the caller cuts the connection. Tasks that only come back are dropped.
func (j *janitor) close(deadline time.Time) {
	j.mu.Lock()
	if !j.stopped {
		j.stopped, j.deadline = true, deadline
		close(j.stop)
	}
	j.mu.Unlock()
	j.running.Wait()
}

func (j *janitor) run() {
	defer j.running.Done()
	for {
		due, next, more := j.take()
		if len(due) > 0 {
			j.do(due)
			continue
		}
		if !more {
			return
		}
		j.sleep(time.Until(next))
	}
}

// take removes the tasks that are due, all of them once the janitor is stopped. Without any it
// returns when the next is, or that there is no more, and then the goroutine has ended.
func (j *janitor) take() (due []task, next time.Time, more bool) {
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	rest := j.tasks[:0]
	for _, t := range j.tasks {
		switch {
		case now.After(t.until), j.stopped && (t.visited() || t.chore == toRepair && t.due.After(now)):
		case len(due) < batchSize && (j.stopped || !t.due.After(now)):
			due = append(due, t)
		default:
			if next.IsZero() || t.due.Before(next) {
				next = t.due
			}
			rest = append(rest, t)
		}
	}
	clear(j.tasks[len(rest):])
	j.tasks = rest
	j.busy = len(due)+len(rest) > 0
	return due, next, len(rest) > 0
}

// retryEvery is how long a task waits after a failure.
const retryEvery = 200 * time.Millisecond

// do does the tasks, those of one kind together. Releases that found nothing end with a repair: a
// signal may have been consumed for the sake of the lock.
func (j *janitor) do(tasks []task) {
	var kinds [4][]task
	for _, t := range tasks {
		kinds[t.chore] = append(kinds[t.chore], t)
	}
	deadline := j.limit()
	var free []lockRef
	if tasks := kinds[toRelease]; len(tasks) > 0 {
		began := time.Now()
		found, errs := j.store.releaseAll(context.Background(), deadline, refs(tasks))
		for i, t := range tasks {
			switch {
			case found[i] == wasHeld:
				j.repair(t.lockRef, time.Since(began))
			case errs[i] == nil && !t.visited():
				free = append(free, t.lockRef)
			}
		}
		j.done(tasks, errs)
	}
	if tasks := kinds[toReleaseAny]; len(tasks) > 0 {
		errs := make([]error, len(tasks))
		for i, t := range tasks {
			_, errs[i] = j.store.releaseAny(context.Background(), deadline, t.lockRef)
		}
		j.done(tasks, errs)
	}
	if tasks := kinds[toExpire]; len(tasks) > 0 {
		j.done(tasks, j.store.expireAll(deadline, refs(tasks), leftToExpire(tasks)))
	}
	if len(free) > 0 {
		_, _ = j.store.repairAll(deadline, free) // waiters' looks do what this does not
	}
	if tasks := kinds[toRepair]; len(tasks) > 0 {
		left, errs := j.store.repairAll(deadline, refs(tasks))
		j.kept(tasks, left)
		j.done(tasks, errs)
	}
}

func refs(tasks []task) []lockRef {
	refs := make([]lockRef, len(tasks))
	for i, t := range tasks {
		refs[i] = t.lockRef
	}
	return refs
}

// leftToExpire returns what is left to locks without expiry of the TTL that they were given first: a late
// visit does not give it to them anew.
func leftToExpire(tasks []task) []time.Duration {
	left := make([]time.Duration, len(tasks))
	for i, t := range tasks {
		left[i] = noExpiryTTL
		if t.visited() {
			left[i] = max(noExpiryTTL-time.Since(t.answered), time.Millisecond)
		}
	}
	return left
}

func (j *janitor) done(tasks []task, errs []error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, t := range tasks {
		j.doneLocked(t, errs[i])
	}
}

// doneLocked decides whether a task that was tried comes again: after an error that may pass, and for
// what may be executed late. Once the janitor is stopped none does.
func (j *janitor) doneLocked(t task, err error) {
	now := time.Now()
	switch {
	case j.stopped && broken(err):
		j.tasks = nil // Redis does not answer: the others would only wait for it, too
	case j.stopped:
	case err == nil && !t.since.IsZero():
		j.visitedLocked(t, now)
	case err != nil && (repeatable(err) || errors.Is(err, errReply)):
		t.due = now.Add(retryEvery)
		j.tasks = append(j.tasks, t)
	case err != nil && t.chore == toRelease && t.noExpiry:
		t.chore, t.due, t.until, t.since, t.life = toExpire, now, now.Add(forEver), now, forEver
		j.tasks = append(j.tasks, t)
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// limit returns when what begins now must have ended.
func (j *janitor) limit() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	limit := limitFromNow()
	if j.stopped && j.deadline.Before(limit) {
		return j.deadline
	}
	return limit
}

func (j *janitor) sleep(d time.Duration) {
	t := time.NewTimer(min(d, 24*time.Hour))
	defer t.Stop()
	select {
	case <-t.C:
	case <-j.kick:
	case <-j.stop:
	}
}
