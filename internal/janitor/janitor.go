package janitor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// A janitor sees, in the background, to what nobody uses any more. It releases what may be held
// after an acquire or a release whose outcome is not known. It lets expire what has no expiry and
// was not released. It gives a signal when something may be had that was kept for its minimum.
//
// It tries each until Redis answered, or until it does not matter any more, and comes back for what
// may be executed late. One goroutine does it all, and lives while there is something to do. Its
// methods may be called from any goroutine, and none but Close blocks.
//
// The goroutine takes tasks out of the agenda, does them without the mutex, and puts those back
// that come again. So what is being done is in no list: what asks for a task of the agenda may miss
// it for that time.
type Janitor struct {
	store *store.Store
	began time.Time
	stop  chan struct{} // closed by close
	kick  chan struct{} // one slot: a task came that may be due earlier

	// running counts the goroutine. Add is called under mu, and not any more once stopped, so Close
	// may Wait.
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	agenda  agenda
	busy    bool // the goroutine runs; unset in the step in which that finds no more to do
	stopped bool
	// deadline, once stopped, is when everything must have ended.
	deadline time.Time
}

// New returns a janitor that works with a store. It starts no goroutine before there is a task.
func New(s *store.Store) *Janitor {
	return &Janitor{
		store: s, began: time.Now(), stop: make(chan struct{}), kick: make(chan struct{}, 1),
	}
}

// Add has a task done when it is due. It does not block. What is added after close is dropped: the
// key expires.
func (j *Janitor) Add(t Task) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped {
		return
	}
	j.agenda.add(t)
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

// AddLate has a task done when it is due, and at every late visit after that. What it is about was
// given up at since, or repeated, and may be executed for some time.
func (j *Janitor) AddLate(t Task, since time.Time) {
	t.since, t.life = since, t.Until.Sub(since)
	j.Add(t)
}

// Expire gives a holding without expiry a TTL, so that it is not held for ever. It comes back: a
// check that is under way on another connection may make it permanent once more.
func (j *Janitor) Expire(h store.Holding) {
	now := time.Now()
	j.AddLate(Task{What: h, chore: toExpire, Due: now, Until: now.Add(forEver)}, now)
}

// AtEnd gives a signal when the minimum is over for which a holding was released with keep. late is
// how long it took from before the release was sent until it was answered: by so much the minimum
// may end later.
func (j *Janitor) AtEnd(t Task, late time.Duration) {
	if !t.Keep.IsZero() {
		j.Add(t.atEnd(late))
	}
}

// BlockUntil gives a signal when a Block is over.
func (j *Janitor) BlockUntil(h store.Holding, b Blocked, end time.Time) {
	t := Task{What: h, blocks: b, Keep: end}
	j.Add(t.atEnd(0))
}

// ForgetBlocks gives no signal at the ends that earlier Blocks of a name had.
func (j *Janitor) ForgetBlocks(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.agenda.forgetBlocks(name)
}

// Blocks reports whether a value that keeps a name was put there by a Block of ours.
func (j *Janitor) Blocks(name, value string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.agenda.blocks(name, value)
}

// NextVisit returns when to come back next for what was given up at since and may be executed late.
func (j *Janitor) NextVisit(since, now time.Time) time.Time {
	next, _ := nextVisit(j.began, since, now)
	return next
}

// Busy reports whether there is something to do.
func (j *Janitor) Busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.busy
}

// Close lets every task be tried once more, now, and waits for that: at most until the deadline, at
// which the caller cuts the connection. Tasks that only come back are dropped.
func (j *Janitor) Close(deadline time.Time) {
	j.mu.Lock()
	if !j.stopped {
		j.stopped, j.deadline = true, deadline
		close(j.stop)
	}
	j.mu.Unlock()
	j.running.Wait()
}

func (j *Janitor) run() {
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

// take removes the tasks that are due. Without any it returns when the next is, or that there is no
// more, and then the goroutine has ended: whoever adds a task starts another one. Both look at busy
// under the mutex, so that no task is added between the last look and the end.
func (j *Janitor) take() (due []Task, next time.Time, more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	due, next, more = j.agenda.take(time.Now(), j.stopped)
	j.busy = len(due) > 0 || more
	return due, next, more
}

// do does the tasks, those of one kind together. All have the same limit: what hangs is given up
// for all of them, and each that failed comes again by itself.
func (j *Janitor) do(tasks []Task) {
	var kinds [chores][]Task
	for _, t := range tasks {
		kinds[t.chore] = append(kinds[t.chore], t)
	}
	limit := j.limit()
	j.release(kinds[toRelease], limit)
	j.letExpire(kinds[toExpire], limit)
	j.signal(kinds[toRepair], limit)
}

// release does releases. Those that found nothing end with a repair: a signal may have been
// consumed for the sake of the holding.
func (j *Janitor) release(tasks []Task, limit time.Time) {
	if len(tasks) == 0 {
		return
	}
	began := time.Now()
	runs := make([]store.Run, len(tasks))
	for i := range tasks {
		runs[i] = tasks[i].Release()
	}
	found, errs := j.store.ReleaseAll(context.Background(), limit, runs)
	var repairs []store.Run
	for i, t := range tasks {
		switch {
		case found[i] == store.WasHeld:
			j.AtEnd(t, time.Since(began))
		case errs[i] == nil && !t.visited():
			if r, ok := t.What.Repair(!t.Keep.IsZero()); ok {
				repairs = append(repairs, r)
			}
		}
	}
	j.done(tasks, errs)
	if len(repairs) > 0 {
		// Waiters' looks do what this does not.
		_, _ = j.store.RepairAll(context.Background(), limit, repairs)
	}
}

func (j *Janitor) letExpire(tasks []Task, limit time.Time) {
	if len(tasks) == 0 {
		return
	}
	runs := make([]store.Run, len(tasks))
	for i, t := range tasks {
		runs[i] = t.What.Extend(store.Extension{Do: store.Prolong, TTL: t.leftToExpire()})
	}
	_, errs := j.store.ExtendAll(context.Background(), limit, runs)
	j.done(tasks, errs)
}

// signal gives signals. Those ends come again that Redis says are yet to come: over a long time its
// clock and ours differ.
func (j *Janitor) signal(tasks []Task, limit time.Time) {
	if len(tasks) == 0 {
		return
	}
	var runs []store.Run
	var given []Task
	for _, t := range tasks {
		if r, ok := t.What.Repair(true); ok {
			runs, given = append(runs, r), append(given, t)
		}
	}
	left, errs := j.store.RepairAll(context.Background(), limit, runs)
	now := time.Now()
	for i, t := range given {
		if left[i] > 0 {
			t.Keep = now.Add(left[i])
			j.Add(t.atEnd(0))
		}
	}
	j.done(given, errs)
}

func (j *Janitor) done(tasks []Task, errs []error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, t := range tasks {
		j.doneLocked(t, errs[i])
	}
}

// RetryEvery is how long a task waits after a failure.
const RetryEvery = 200 * time.Millisecond

// doneLocked decides whether a task that was tried comes again: after an error that may pass, and
// for what may be executed late. Once the janitor is stopped none does.
func (j *Janitor) doneLocked(t Task, err error) {
	now := time.Now()
	switch {
	case j.stopped && store.Broken(err):
		j.agenda = agenda{} // Redis does not answer: the others would only wait for it, too
	case j.stopped:
	case err == nil && t.late():
		j.visitedLocked(t, now)
	case err != nil && (store.Repeatable(err) || errors.Is(err, store.ErrReply)):
		t.Due = now.Add(RetryEvery)
		j.agenda.again(t)
	case err != nil && t.chore == toRelease && t.NoExpiry:
		t.chore, t.Due, t.Until, t.since, t.life = toExpire, now, now.Add(forEver), now, forEver
		j.agenda.again(t)
	}
}

// visitedLocked decides when a late task comes again that Redis has answered.
func (j *Janitor) visitedLocked(t Task, now time.Time) {
	due, ok := nextVisit(j.began, t.since, now)
	if !t.visited() {
		t.answered = now
		// The visits before this one failed, perhaps, and it ended them with a new connection.
		if soon := now.Add(store.OperationLimit); !ok || soon.Before(due) {
			due, ok = soon, true
		}
	}
	if !ok {
		return
	}
	t.Due = due
	if end := due.Add(t.life); t.Until.Before(end) {
		t.Until = end
	}
	j.agenda.again(t)
}

// limit returns when what begins now must have ended. What began before Close has its own limit,
// and Close's caller cuts the connection under it.
func (j *Janitor) limit() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	limit := store.LimitFromNow()
	if j.stopped && j.deadline.Before(limit) {
		return j.deadline
	}
	return limit
}

// sleep waits until a task may be due. The slot of kick keeps that one came while the goroutine was
// not asleep yet. It wakes once a day at least: timers of years are not relied on.
func (j *Janitor) sleep(d time.Duration) {
	t := time.NewTimer(min(d, 24*time.Hour))
	defer t.Stop()
	select {
	case <-t.C:
	case <-j.kick:
	case <-j.stop:
	}
}
