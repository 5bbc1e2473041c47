package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestSeize(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{TTL: 2 * time.Second})
	first := acquire(t, c.Mutex("job"))
	second, err := open(t, s, nil).Mutex("job").Seize(soon(t))
	if err != nil {
		t.Fatalf("Seize: %v", err)
	}
	if second.Fence() <= first.Fence() || value(t, s, "lock:job") != second.ID() {
		t.Errorf("seized with the token %d after %d", second.Fence(), first.Fence())
	}
	<-first.Done()
	if !errors.Is(first.Err(), lock.ErrLost) {
		t.Errorf("the first: %v", first.Err())
	}
	if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock of the first: %v", err)
	}
	unlock(t, second)

	free, err := c.Mutex("job").Seize(soon(t))
	if err != nil {
		t.Fatalf("Seize of a free one: %v", err)
	}
	unlock(t, free)
}

// With an id of one's own, a second lease of the same id is another lease.
func TestSeizeGivenID(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	m := c.MutexWith("job", &lock.MutexOptions{ID: "mine"})
	first := acquire(t, m)
	second, err := m.Seize(soon(t))
	if err != nil || second.Fence() <= first.Fence() {
		t.Fatalf("Seize: %v", err)
	}
	if err := first.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock of the first: %v", err)
	}
	unlock(t, second)
}

func TestSeizeRepeated(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	s.Do(t, "SET", "lock:job", "theirs")
	p.Catch(faultproxy.CutReply, scripts.Acquire.SHA1)
	lease, err := c.Mutex("job").Seize(soon(t))
	if err != nil {
		t.Fatalf("Seize: %v", err)
	}
	if got := locks.Int(t, value(t, s, "lock-fence:job")); got != lease.Fence() {
		t.Errorf("the fence is %d, the lease's %d", got, lease.Fence())
	}
	unlock(t, lease)
}

func TestBlock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{Label: "me"})
	if err := c.Block(soon(t), "job", time.Minute); err != nil {
		t.Fatal(err)
	}
	if left := pttl(t, s, "lock:job"); left < 50_000 || left > 60_000 {
		t.Errorf("it has %d ms left", left)
	}
	if keys := s.Keys(t, "lock-fence:*"); len(keys) != 0 {
		t.Errorf("fences: %q", keys)
	}
	o, err := c.Owner(soon(t), "job")
	if err != nil || !o.Kept || o.Label != "me" {
		t.Errorf("the owner is %v, %v", o, err)
	}
	if _, err := c.Mutex("job").TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v", err)
	}
	if reset, err := c.ResetAll(soon(t), lock.Filter{Label: "me"}); err != nil || len(reset) != 0 {
		t.Errorf("ResetAll: %v, %v", reset, err)
	}
	_ = c.Close()
	if left := pttl(t, s, "lock:job"); left <= 0 {
		t.Errorf("after Close it has %d ms left", left)
	}
	if _, held, err := open(t, s, nil).Reset(soon(t), "job"); err != nil || !held {
		t.Errorf("Reset: %v, %v", held, err)
	}
}

func TestOwnerAndLocked(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	for _, test := range []struct {
		set         []any
		least, most time.Duration // of what is left
		want        error
	}{
		{nil, 0, 0, lock.ErrNotHeld},
		{[]any{"lock:job", "x", "PX", 30_000}, time.Second, 30 * time.Second, nil},
		{[]any{"lock:job", "x"}, lock.NoExpiry, lock.NoExpiry, nil},
	} {
		s.Do(t, "DEL", "lock:job")
		if test.set != nil {
			s.Do(t, "SET", test.set...)
		}
		o, err := c.Owner(soon(t), "job")
		if !errors.Is(err, test.want) || o.TTL < test.least || o.TTL > test.most {
			t.Errorf("%v: %+v, %v", test.set, o, err)
		}
		locked, err := c.Locked(soon(t), "job")
		if err != nil || locked != (test.want == nil) {
			t.Errorf("%v: locked %v, %v", test.set, locked, err)
		}
	}
	s.Do(t, "DEL", "lock:job")
	s.Do(t, "RPUSH", "lock:job", "x")
	if _, err := c.Locked(soon(t), "job"); !errors.Is(err, lock.ErrWrongType) {
		t.Errorf("a list: %v", err)
	}
}

func TestExtendBy(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	m := c.MutexWith("job", &lock.MutexOptions{TTL: 20 * time.Second, NoRenewal: true})
	lease := acquire(t, m)
	defer unlock(t, lease)
	before := lease.Deadline()
	left, err := lease.ExtendBy(soon(t), time.Minute)
	if err != nil || left < 75*time.Second || left > 80*time.Second {
		t.Fatalf("ExtendBy: %v, %v", left, err)
	}
	if got := pttl(t, s, "lock:job"); got < 70_000 || got > 80_000 {
		t.Errorf("it has %d ms left", got)
	}
	if moved := lease.Deadline().Sub(before); moved < 50*time.Second || moved > 60*time.Second {
		t.Errorf("the deadline moved by %v", moved)
	}
	// What is left of a key that somebody shortened is all that is added to, and believed in.
	s.Do(t, "PEXPIRE", "lock:job", 5000)
	if left, err = lease.ExtendBy(soon(t), time.Second); err != nil || left > 6*time.Second {
		t.Errorf("ExtendBy a little: %v, %v", left, err)
	}
	if until := time.Until(lease.Deadline()); until > 6*time.Second || until < 0 {
		t.Errorf("the lease believes in %v more", until)
	}
	for _, d := range []time.Duration{0, -1, time.Microsecond, 367 * 24 * time.Hour, 366 * 24 * time.Hour} {
		if _, err := lease.ExtendBy(soon(t), d); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("ExtendBy(%v): %v", d, err)
		}
	}
	if err := lease.Renew(soon(t)); err != nil {
		t.Errorf("Renew: %v", err)
	}
	if got := pttl(t, s, "lock:job"); got < 70_000 {
		t.Errorf("after Renew it has %d ms left", got)
	}
}

func TestExtendByOfALostLease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	for what, call := range map[string]func(*lock.Lease) error{
		"ExtendBy": func(l *lock.Lease) error { return locks.ErrOf(l.ExtendBy(soon(t), time.Second)) },
		"Renew":    func(l *lock.Lease) error { return l.Renew(soon(t)) },
		"Check":    func(l *lock.Lease) error { return l.Verify(soon(t)) },
	} {
		lease := acquire(t, c.Mutex("job"))
		if err := call(lease); err != nil {
			t.Errorf("%s while held: %v", what, err)
		}
		s.Do(t, "SET", "lock:job", "theirs")
		if err := call(lease); !errors.Is(err, lock.ErrLost) || lease.Valid() {
			t.Errorf("%s of a lost one: %v", what, err)
		}
		if value(t, s, "lock:job") != "theirs" {
			t.Errorf("%s touched the other's lock", what)
		}
		s.Do(t, "DEL", "lock:job")
		lease = acquire(t, c.Mutex("job"))
		unlock(t, lease)
		if err := call(lease); !errors.Is(err, lock.ErrReleased) {
			t.Errorf("%s after Unlock: %v", what, err)
		}
	}
}

func TestCheckProlongsNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	lease := acquire(t, c.Mutex("job"))
	defer unlock(t, lease)
	s.Do(t, "PEXPIRE", "lock:job", 20_000)
	before := lease.Deadline()
	if err := lease.Verify(soon(t)); err != nil {
		t.Error(err)
	}
	if left := pttl(t, s, "lock:job"); left > 20_000 || !lease.Deadline().Equal(before) {
		t.Errorf("it has %d ms left, the deadline moved by %v", left, lease.Deadline().Sub(before))
	}
	permanent := acquire(t, c.MutexWith("for ever", &lock.MutexOptions{TTL: lock.NoExpiry}))
	if err := permanent.Verify(soon(t)); err != nil {
		t.Error(err)
	}
	if left := pttl(t, s, "lock:for ever"); left != -1 {
		t.Errorf("it has %d ms left", left)
	}
	if _, err := permanent.ExtendBy(soon(t), time.Second); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("ExtendBy without expiry: %v", err)
	}
	if err := permanent.Renew(soon(t)); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("Renew without expiry: %v", err)
	}
	unlock(t, permanent)
}

// Whether an addition whose reply is lost was made is not known, and it is not made twice.
func TestExtendByUnknown(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	lease := acquire(t, c.Mutex("job"))
	p.Catch(faultproxy.CutReply, scripts.Extend.SHA1)
	_, err := lease.ExtendBy(soon(t), time.Minute)
	if !errors.Is(err, lock.ErrUnknown) || !lease.Valid() {
		t.Errorf("ExtendBy: %v, valid %v", err, lease.Valid())
	}
	if left := pttl(t, s, "lock:job"); left > 90_000 {
		t.Errorf("it has %d ms left", left)
	}
	unlock(t, lease)
}

func TestSignalTTL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{SignalTTL: time.Minute})
	unlock(t, acquire(t, c.Mutex("job")))
	if left := pttl(t, s, "lock-signal:job"); left < 50_000 {
		t.Errorf("the signal has %d ms left", left)
	}
	for _, ttl := range []time.Duration{-1, time.Millisecond, 49 * time.Millisecond, 367 * 24 * time.Hour} {
		if _, err := lock.Open(s.URL(), &lock.Options{SignalTTL: ttl}); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("SignalTTL %v: %v", ttl, err)
		}
	}
}

func TestKeyFormat(t *testing.T) {
	t.Parallel()
	for format, key := range map[string]string{
		"%s": "job", "cache|%s": "cache|job", "%s:lock": "job:lock", "app:%s:x": "app:job:x", "lock:%s": "lock:job",
	} {
		s := redistest.Start(t)
		c := open(t, s, &lock.Options{KeyFormat: format, TTL: 2 * time.Second})
		waits := open(t, s, &lock.Options{KeyFormat: format})
		lease := acquire(t, c.Mutex("job"))
		if value(t, s, key) != lease.ID() {
			t.Errorf("%s: no lock at %s", format, key)
		}
		next := lockLater(t, soon(t), waits, "job")
		blocked(t, s, 1)
		redistest.Until(t, "it is renewed", func() bool { return c.Stats().Renewals > 0 })
		s.Do(t, "SET", "other", "foreign")
		names := map[string]bool{}
		for o, err := range c.List(soon(t), lock.Filter{}) {
			if err != nil {
				t.Errorf("%s: List: %v", format, err)
			}
			names[o.Name] = true
		}
		if len(names) != 1 || !names["job"] {
			t.Errorf("%s: List gives %v", format, names)
		}
		unlock(t, lease)
		r := await(t, "the waiter", next)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		reset, err := c.ResetAll(soon(t), lock.Filter{Name: "j*"})
		if err != nil || len(reset) != 1 {
			t.Errorf("%s: ResetAll: %v, %v", format, reset, err)
		}
		_, err = c.ResetAll(soon(t), lock.Filter{All: true, Name: "job"})
		if bare := format[0] == '%'; errors.Is(err, lock.ErrInvalid) != bare {
			t.Errorf("%s: ResetAll with All: %v", format, err)
		}
		if value(t, s, "other") != "foreign" {
			t.Errorf("%s: a foreign key was touched", format)
		}
		_ = r.Lease.Unlock(soon(t))
	}
}

func TestBadKeyFormat(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"lock:", "%s%s", "%d", "%s%", "lock-%s", "lock-signal:%s", "a\n%s", "\xff%s"} {
		if _, err := lock.Open("redis://127.0.0.1:1", &lock.Options{KeyFormat: format}); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%q: %v", format, err)
		}
	}
	for format, names := range map[string][]string{
		"%s": {"lock:x", "lock-signal:x", "lock-"}, "lock%s": {"-fence:x", ":x"}, "%sx": {"lock-fence:"},
	} {
		c, err := lock.Open("redis://127.0.0.1:1", &lock.Options{KeyFormat: format})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, name := range names {
			if err := c.Do(soon(t), name, func(context.Context) error { return nil }); !errors.Is(err, lock.ErrInvalid) {
				t.Errorf("%q in %q: %v", name, format, err)
			}
			if _, err := c.Owner(soon(t), name); !errors.Is(err, lock.ErrInvalid) {
				t.Errorf("Owner of %q in %q: %v", name, format, err)
			}
		}
	}
}

// Other keys of holdfast's are no locks, whatever the key of a lock begins with.
func TestKeyFormatAndOtherKeys(t *testing.T) {
	t.Parallel()
	for _, o := range []lock.Options{{Prefix: "app:", KeyFormat: "%s"}, {KeyFormat: "l%s"}} {
		s := redistest.Start(t)
		c := open(t, s, &o)
		acquire(t, c.Mutex("job"))
		s.Do(t, "SET", o.Prefix+"lock-reg:stock", "5")
		for held, err := range c.List(soon(t), lock.Filter{}) {
			if err != nil || held.Name != "job" {
				t.Errorf("%+v: List gives %q, %v", o, held.Name, err)
			}
		}
		reset, err := c.ResetAll(soon(t), lock.Filter{All: true})
		if err != nil || len(reset) != 1 {
			t.Errorf("%+v: ResetAll: %v, %v", o, reset, err)
		}
		fence := "lock-fence:%" + strings.Replace(o.KeyFormat, "%s", "job", 1)
		for _, key := range []string{"lock-reg:stock", fence} {
			if value(t, s, o.Prefix+key) == "" {
				t.Errorf("%+v: %s is gone", o, key)
			}
		}
	}
}
