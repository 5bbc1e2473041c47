package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 38: the first attempt is executed and its reply lost, and the repeat is not sent. Every operation says
// that the outcome is not known.
func TestFaultRepeatNotSent(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	for what, op := range map[string]struct {
		script *scripts.Script
		do     func(context.Context, *lock.Client, *lock.Lease) error
	}{
		"TryLock": {&scripts.Acquire, func(ctx context.Context, c *lock.Client, _ *lock.Lease) error {
			return errOf(c.Mutex("other").TryLock(ctx))
		}},
		"Block": {&scripts.Acquire, func(ctx context.Context, c *lock.Client, _ *lock.Lease) error {
			return c.Block(ctx, "other", time.Minute)
		}},
		"Extend": {&scripts.Extend, func(ctx context.Context, _ *lock.Client, l *lock.Lease) error {
			return l.Extend(ctx, time.Minute)
		}},
		"Detach": {&scripts.Extend, func(ctx context.Context, _ *lock.Client, l *lock.Lease) error {
			return errOf(l.Detach(ctx))
		}},
		"Unlock": {&scripts.Release, func(ctx context.Context, _ *lock.Client, l *lock.Lease) error {
			return l.Unlock(ctx)
		}},
		"ReleaseID": {&scripts.Release, func(ctx context.Context, c *lock.Client, l *lock.Lease) error {
			return c.ReleaseID(ctx, "job", l.ID())
		}},
		"Reset": {&scripts.Reset, func(ctx context.Context, c *lock.Client, _ *lock.Lease) error {
			_, _, err := c.Reset(ctx, "job")
			return err
		}},
		"Adopt": {&scripts.Acquire, func(ctx context.Context, c *lock.Client, l *lock.Lease) error {
			return errOf(c.Mutex("job").Adopt(ctx, l.ID()))
		}},
	} {
		s.Do(t, "FLUSHALL")
		p := faultProxy(t, s)
		c := faultMet(t, p.URL(), &lock.Options{NoRenewal: true, KeepOnClose: true})
		lease := acquire(t, c.Mutex("job"))
		last := p.Catch(faultproxy.HoldReply, op.script.SHA1)
		failed := make(chan error, 1)
		go func() { failed <- op.do(soon(t), c, lease) }()
		select {
		case <-last.Done():
		case err := <-failed: // Redis did not know the script
			t.Fatalf("%s: %v", what, err)
		}
		p.Refuse(true)
		last.Reset()
		err := await(t, what, failed)
		if !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
		p.Refuse(false)
	}
}
