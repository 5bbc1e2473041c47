package chaos

import (
	"context"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// drop forgets the lease without a word. Once the collector has found it, it is not renewed any more, and
// its key expires.
func (b *belief) drop() {
	if !b.valid() {
		_ = b.lease.Unlock(context.Background())
		return
	}
	id, done, run := b.lease.ID(), b.lease.Done(), b.w.run
	b.lease = nil
	b.w.seat.dropped.Add(1)
	runtime.GC() // after it the lease's clean-up is in the runtime's queue
	late := time.NewTimer(b.rec.Longest + slack)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		run.seen("a lease that was dropped goes on: %v", b.rec)
		return
	}
	// A renewal that is kept back on its way may be executed once more, while the key lives yet.
	held := func() bool { return run.holder(b.rec.Name) == id }
	if !run.until(2*b.rec.Longest+slack, func() bool { return !held() }) {
		run.seen("the lock of a lease that was dropped does not expire: %v", b.rec)
	}
}

// dropTTL is so long that a busy machine does not lose the lease before the collector has come.
const dropTTL = time.Second

// forget takes a lock of its own and drops its lease, over and over, in a round without faults: there the
// lease has no other reason to end, and the hook must tell of each.
func (w *worker) forget(stop <-chan struct{}) {
	for !over(stop) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		o := order{
			how: "Lock", name: "chaos-dropped", client: w.seat.current(),
			options: &lock.MutexOptions{TTL: dropTTL},
		}
		began, told := w.run.now(), w.seat.leaked.Load()
		lease, err := o.mutex().Lock(ctx)
		cancel()
		b := w.belief(lease, o, began)
		if err != nil {
			w.run.seen("nobody holds %s, and Lock returned %v", o.name, err)
			return
		}
		lease = nil // b drops it
		b.drop()
		b.write()
		if !w.run.until(slack, func() bool { return w.seat.leaked.Load() > told }) {
			w.run.seen("no hook told that a lease was dropped: %v", b.rec)
		}
	}
}
