package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Whoever waits behind others, and so never asked Redis, is told who holds the lock, too.
func TestWaitBehindOthersSaysWhoHolds(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	holder := acquire(t, open(t, s, &lock.Options{Label: "holder"}).Mutex(name))
	defer unlock(t, holder)
	ctx, cancel := context.WithCancel(context.Background())
	head := lockLater(t, ctx, c, name)
	redistest.Until(t, "the head waits", func() bool { return c.Stats().Waiting == 1 })
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	_, err := c.Mutex(name).Lock(short)
	var held *lock.HeldError
	if !errors.As(err, &held) || held.Owner.Label != "holder" || held.Owner.Name != name || held.Owner.TTL <= 0 {
		t.Errorf("behind the head: %v", err)
	}
	cancel()
	await(t, "the head", head)
}
