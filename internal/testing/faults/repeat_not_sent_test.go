package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 38: the first attempt is executed and its reply lost, and the repeat is not sent. Every operation says
// that the outcome is not known.
func TestFaultRepeatNotSent(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	for what, op := range map[string]struct {
		script string
		do     func(context.Context, *lock.Client, *lock.Lease) error
	}{
		"TryLock": {wire.Acquire, func(ctx context.Context, c *lock.Client, _ *lock.Lease) error {
			return locks.ErrOf(c.Mutex("other").TryLock(ctx))
		}},
		"Block": {wire.Acquire, func(ctx context.Context, c *lock.Client, _ *lock.Lease) error {
			return c.Block(ctx, "other", time.Minute)
		}},
		"Extend": {wire.Extend, func(ctx context.Context, _ *lock.Client, l *lock.Lease) error {
			return l.Extend(ctx, time.Minute)
		}},
		"Detach": {wire.Extend, func(ctx context.Context, _ *lock.Client, l *lock.Lease) error {
			return locks.ErrOf(l.Detach(ctx))
		}},
		"Unlock": {wire.Release, func(ctx context.Context, _ *lock.Client, l *lock.Lease) error {
			return l.Unlock(ctx)
		}},
		"ReleaseID": {wire.Release, func(ctx context.Context, c *lock.Client, l *lock.Lease) error {
			return c.ReleaseID(ctx, "job", l.ID())
		}},
		"Reset": {wire.Reset, func(ctx context.Context, c *lock.Client, _ *lock.Lease) error {
			_, _, err := c.Reset(ctx, "job")
			return err
		}},
		"Adopt": {wire.Acquire, func(ctx context.Context, c *lock.Client, l *lock.Lease) error {
			return locks.ErrOf(c.Mutex("job").Adopt(ctx, l.ID()))
		}},
	} {
		s.Do(t, "FLUSHALL")
		p := locks.Proxy(t, s)
		c := locks.Met(t, p.URL(), &lock.Options{NoRenewal: true, KeepOnClose: true})
		lease := locks.Acquire(t, c.Mutex("job"))
		last := p.Catch(faultproxy.HoldReply, op.script)
		failed := make(chan error, 1)
		go func() { failed <- op.do(locks.Soon(t), c, lease) }()
		select {
		case <-last.Done():
		case err := <-failed: // Redis did not know the script
			t.Fatalf("%s: %v", what, err)
		}
		p.Refuse(true)
		last.Reset()
		err := locks.Await(t, what, failed)
		if !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
		p.Refuse(false)
	}
}
