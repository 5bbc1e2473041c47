package locktest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
	"github.com/holdfast-go/holdfast/pool"
)

// keyOptions are ways to call the keys of locks, and what one is called then.
var keyOptions = map[string]lock.Options{
	"lock:job":          {},
	"job":               {KeyFormat: "%s"},
	"cache|lock:job":    {KeyFormat: "cache|lock:%s"},
	"app:lock:job":      {Prefix: "app:"},
	"app:job:x":         {Prefix: "app:", KeyFormat: "%s:x"},
	"rueidislock:0:job": {KeyFormat: "rueidislock:0:%s"},
}

// Expire and Steal are for the locks of the test's clients, whatever these call them.
func TestFaultsOfAnyKey(t *testing.T) {
	t.Parallel()
	for key, o := range keyOptions {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := locktest.Start(t)
				a, b := s.Client(t, &o), s.Client(t, &o)
				faultsOf(t, s, key, a, b)
			})
		})
	}
}

// Of clients that the program makes itself the test has to say so.
func TestFaultsOfAnyKeyOfOnesOwn(t *testing.T) {
	t.Parallel()
	for key, o := range keyOptions {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := locktest.Start(t)
				s.Prefix, s.KeyFormat = o.Prefix, o.KeyFormat
				faultsOf(t, s, key, own(t, s, &o), own(t, s, &o))
			})
		})
	}
}

// own makes a client as a program does.
func own(t *testing.T, s *locktest.Server, o *lock.Options) *lock.Client {
	t.Helper()
	c, err := lock.New(s.Pool(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// faultsOf checks that both faults reach the lock, that the thief has a token, and that its end
// wakes.
func faultsOf(t *testing.T, s *locktest.Server, key string, a, b *lock.Client) {
	t.Helper()
	if lease, _ := hold(t, a, "job"); value(t, s, key) != lease.ID() {
		t.Fatalf("the lock is not at %s", key)
	} else if s.Expire("job"); value(t, s, key) != "" {
		t.Error("Expire has left the lock there")
	}
	robbed, ctx := hold(t, b, "job")
	giveBack := s.Steal("job", time.Hour)
	if <-ctx.Done(); !strings.Contains(context.Cause(ctx).Error(), "held by thief") {
		t.Errorf("cause %v", context.Cause(ctx))
	}
	got := lockLater(t, a, "job")
	time.Sleep(10 * time.Second)
	began := time.Now()
	giveBack()
	between(t, "the handover", (<-got).Sub(began), 0, 0)
	if next, _ := hold(t, b, "job"); next.Fence() <= robbed.Fence()+1 {
		t.Errorf("token %d after %d and the thief's", next.Fence(), robbed.Fence())
	}
}

// value returns what a key holds; "" for nothing.
func value(t *testing.T, s *locktest.Server, key string) string {
	t.Helper()
	p := s.Pool()
	defer p.Close()
	conn := p.Get()
	defer conn.Close()
	reply, err := conn.Do("GET", key)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := reply.([]byte)
	return string(text)
}

// What the Server is told goes before what its clients have, and giveBack is for what was stolen.
func TestFaultsOfTwoKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := locktest.Start(t)
		plain, bare := s.Client(t, nil), s.Client(t, &lock.Options{KeyFormat: "%s"})
		s.KeyFormat = "%s"
		giveBack := s.Steal("job", time.Hour)
		first, _ := hold(t, plain, "job")
		s.KeyFormat = "lock:%s"
		s.Expire("job")
		if err := first.Verify(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("after Expire of its key: %v", err)
		}
		giveBack()
		_, _ = hold(t, bare, "job")
	})
}

// Which of two locks of one name is meant must be said: the wrong one would look like a job that
// copes.
func TestKeyIsNotClear(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		options []*lock.Options
		prefix  string
		format  string
		refused string
	}{
		"none":             {},
		"default twice":    {options: []*lock.Options{nil, {}, {KeyFormat: "lock:%s", Label: "b"}}},
		"two formats":      {options: []*lock.Options{nil, {KeyFormat: "%s"}}, refused: "set Prefix or KeyFormat"},
		"two prefixes":     {options: []*lock.Options{nil, {Prefix: "app:"}}, refused: "set Prefix or KeyFormat"},
		"two, and said":    {options: []*lock.Options{nil, {Prefix: "app:"}}, prefix: "app:"},
		"two, the default": {options: []*lock.Options{nil, {Prefix: "app:"}}, format: "lock:%s"},
		"no name in it":    {format: "lock:", refused: "must have"},
		"two names in it":  {format: "%s%s", refused: "must have"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := &refusal{TB: t}
			s := locktest.Start(r)
			for _, o := range test.options {
				s.Client(t, o)
			}
			s.Prefix, s.KeyFormat = test.prefix, test.format
			for _, fault := range []func(){
				func() { s.Expire("job") },
				func() { s.Steal("job", time.Minute) },
			} {
				r.text = ""
				func() {
					defer func() { _ = recover() }()
					fault()
				}()
				if (r.text == "") != (test.refused == "") || !strings.Contains(r.text, test.refused) {
					t.Errorf("refused with %q, want %q", r.text, test.refused)
				}
			}
		})
	}
}

// The member M of the pool P is the lock {P}/M.
func TestFaultsOfAPool(t *testing.T) {
	bubble(t, func(t *testing.T, s *locktest.Server, a, b *lock.Client) {
		mine, theirs := pool.New(a, "ports", nil), pool.New(b, "ports", nil)
		if _, err := mine.Extend(t.Context(), "p1"); err != nil {
			t.Fatal(err)
		}
		lease, err := mine.TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		giveBack := s.Steal("{ports}/p1", time.Hour)
		if <-lease.Done(); !errors.Is(lease.Err(), lock.ErrLost) {
			t.Errorf("stolen: %v", lease.Err())
		}
		if _, err := theirs.TryLock(t.Context()); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("while the thief has it: %v", err)
		}
		time.AfterFunc(time.Minute, giveBack)
		began := time.Now()
		next, err := theirs.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		between(t, "the handover", time.Since(began), time.Minute, time.Minute+time.Second)
		s.Expire("{ports}/p1")
		if err := next.Verify(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("expired: %v", err)
		}
		if again, err := mine.TryLock(t.Context()); err != nil {
			t.Errorf("after Expire: %v", err)
		} else if err := again.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
