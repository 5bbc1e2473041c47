package lock_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// faultCalls are the ways to ask for a lock.
var faultCalls = map[string]func(context.Context, *lock.Mutex) (*lock.Lease, error){
	"Lock":    func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.Lock(ctx) },
	"TryLock": func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.TryLock(ctx) },
	"Do": func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) {
		return nil, m.Do(ctx, func(context.Context) error { return nil })
	},
}

// faultAtOnce calls each way to ask for a lock, each of a new client, and returns the errors, which
// must come at once and name nothing secret.
func faultAtOnce(t *testing.T, open func() *lock.Client, secret string) map[string]error {
	t.Helper()
	errs := map[string]error{}
	for name, call := range faultCalls {
		began := time.Now()
		lease, err := call(soon(t), open().Mutex("job"))
		t.Logf("%s told after %v", name, faultTook(t, name, began, time.Now(), faultSlack))
		if err == nil || lease != nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error repeats the password: %v", name, err)
		}
		if errors.Is(err, lock.ErrHeld) {
			t.Errorf("%s: %v: is ErrHeld", name, err)
		}
		errs[name] = err
	}
	return errs
}

// First contact: nobody listens. That is told at once, with the address.
func TestFaultNobodyListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	open := func() *lock.Client { return faultOpen(t, "redis://user:s3cret@"+addr+"/0", nil) }
	for name, err := range faultAtOnce(t, open, "s3cret") {
		if !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: %v: does not say where", name, err)
		}
		if errors.Is(err, lock.ErrUnknown) {
			t.Errorf("%s: %v: is ErrUnknown", name, err)
		}
	}
}

// After first contact a server that is gone is waited for by Lock; TryLock says so.
func TestFaultServerGone(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	c := faultMet(t, s.URL(), nil)
	s.Kill(t)
	began := time.Now()
	_, err := c.Mutex("job").TryLock(soon(t))
	faultTook(t, "TryLock", began, time.Now(), faultSlack)
	if err == nil || errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = c.Mutex("job").Lock(ctx)
	faultIs(t, "Lock", err, context.DeadlineExceeded)
	if !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("Lock: %v: does not say what it met", err)
	}
	wait := faultLock(soon(t), c.Mutex("job"))
	s.Restart(t)
	up := time.Now()
	lease, at := faultGot(t, wait)
	faultTook(t, "Lock", up, at, faultS+faultSlack)
	unlock(t, lease)
}

// First contact: a server that takes the connection and says nothing, and a dialler that hangs.
func TestFaultDialHangs(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the kernel does
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, open := range map[string]func() *lock.Client{
		"server": func() *lock.Client { return faultOpen(t, "redis://"+listener.Addr().String(), nil) },
		"dialler": func() *lock.Client {
			c, err := lock.New(&redis.Pool{Dial: func() (redis.Conn, error) {
				<-hang
				return nil, errors.New("hung up")
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c // closed below
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open()
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err := c.Mutex("job").TryLock(ctx)
			faultTook(t, "TryLock with a context", began, time.Now(), 200*time.Millisecond+faultSlack)
			faultIs(t, "TryLock", err, context.DeadlineExceeded)
			began = time.Now()
			if _, err = c.Mutex("job").TryLock(soon(t)); err == nil || errors.Is(err, lock.ErrHeld) {
				t.Errorf("TryLock: %v", err)
			}
			t.Logf("TryLock: %v after %v", err, faultTook(t, "TryLock", began, time.Now(), 2*faultR+faultSlack))
			began = time.Now()
			_ = c.Close()
			t.Logf("Close: %v", faultTook(t, "Close", began, time.Now(), faultR+faultSlack))
		})
	}
}

// Row 17: what will not pass ends a call at once and is not taken for a lock that is held.
func TestFaultRefused(t *testing.T) {
	t.Parallel()
	s := faultServer(t, "requirepass s3cret",
		"user reader on >readonly ~* &* +@read +@connection",
		"user narrow on >narrow ~other:* &* +@all")
	at := func(user, password string) string {
		u := url.URL{Scheme: "unix", Path: s.Addr()}
		if password != "" {
			u.User = url.UserPassword(user, password)
		}
		return u.String()
	}
	for _, c := range []struct{ name, user, password, code string }{
		{"no password", "", "", "NOAUTH"},
		{"wrong password", "", "wr0ng", "WRONGPASS"},
		{"a command not allowed", "reader", "readonly", "NOPERM"},
		{"a key not allowed", "narrow", "narrow", "NOPERM"},
	} {
		open := func() *lock.Client { return faultOpen(t, at(c.user, c.password), nil) }
		for name, err := range faultAtOnce(t, open, c.password) {
			if !strings.Contains(err.Error(), c.code) {
				t.Errorf("%s, %s: %v: does not say %s", c.name, name, err, c.code)
			}
		}
	}
}

// Row 17: keys of another type. The lock's own is ErrWrongType, and stays.
func TestFaultWrongType(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	s.Do(t, "SADD", "lock:job", "member")
	open := func() *lock.Client { return faultMet(t, s.URL(), nil) }
	for name, err := range faultAtOnce(t, open, "") {
		faultIs(t, name, err, lock.ErrWrongType)
	}
	// It becomes one while somebody waits.
	s.Do(t, "SET", "lock:later", "somebody")
	events := newFaultEvents()
	c := faultMet(t, s.URL(), &lock.Options{Hooks: events.hooks()})
	wait := faultLock(soon(t), c.Mutex("later"))
	await(t, "Waiting", events.waiting)
	faultBlocked(t, s, 1)
	s.Do(t, "DEL", "lock:later")
	s.Do(t, "SADD", "lock:later", "member")
	changed := time.Now()
	r := await(t, "Lock", wait)
	faultIs(t, "Lock", r.err, lock.ErrWrongType)
	faultTook(t, "to be told", changed, r.at, faultS+faultSlack)
	for _, key := range []string{"lock:job", "lock:later"} {
		if kind := s.Do(t, "TYPE", key); kind != "set" {
			t.Errorf("%s is a %v now", key, kind)
		}
	}
}

// Row 17: a signal key of another type ends the waiting for its name, and for no other on the same
// connection.
func TestFaultForeignSignal(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	holder, c := faultMet(t, s.URL(), nil), faultMet(t, s.URL(), nil)
	good, bad := acquire(t, holder.Mutex("good")), acquire(t, holder.Mutex("bad"))
	waitGood := faultLock(soon(t), c.Mutex("good"))
	faultBlocked(t, s, 1)
	s.Do(t, "SET", "lock-signal:bad", "foreign")
	r := await(t, "the waiter for the bad one", faultLock(soon(t), c.Mutex("bad")))
	faultIs(t, "Lock", r.err, lock.ErrWrongType)
	faultBlocked(t, s, 1)
	unlock(t, good)
	released := time.Now()
	lease, at := faultGot(t, waitGood)
	faultTook(t, "the waiter for the good one", released, at, faultSlack)
	unlock(t, lease)
	unlock(t, bad)
	if got := value(t, s, "lock-signal:bad"); got != "foreign" {
		t.Errorf("the foreign key holds %q", got)
	}
}

// Row 17: a Redis that refuses BLPOP. Waiting goes on without it, and says so once.
func TestFaultNoBlocking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, conf string }{
		{"unknown command", `rename-command BLPOP ""`},
		{"not allowed", "user default on nopass ~* &* +@all -blpop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t, c.conf)
			events := newFaultEvents()
			holder := faultMet(t, s.URL(), nil)
			waiter := faultMet(t, s.URL(), &lock.Options{Hooks: events.hooks()})
			lease := acquire(t, holder.Mutex("job"))
			wait := faultLock(soon(t), waiter.Mutex("job"))
			await(t, "Degraded", events.degraded)
			unlock(t, lease)
			released := time.Now()
			got, at := faultGot(t, wait)
			t.Logf("acquired %v after the release", faultTook(t, "the look", released, at, faultS+faultSlack))
			unlock(t, got)

			s.Do(t, "SET", "lock:job", "dead", "PX", 300) // it expires: the timer tells
			expires := time.Now().Add(300 * time.Millisecond)
			got, at = faultGot(t, faultLock(soon(t), waiter.Mutex("job")))
			t.Logf("acquired %v after the expiry", faultTook(t, "the timer", expires, at, faultSlack))
			unlock(t, got)
			if n := len(events.degraded); n != 0 {
				t.Errorf("Degraded %d times more", n)
			}
		})
	}
}

// Row 17: the password is changed while a lease is held, and the connections are cut, or the one for
// renewals is yet to be made. The lease ends in time and says why.
func TestFaultPasswordChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		renewed bool // the connection for renewals is there when the password changes, and is cut
	}{
		{"connections are cut", true},
		{"not renewed yet", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, events := redistest.Start(t), newFaultEvents()
			client := faultMet(t, s.URL(), &lock.Options{TTL: 1200 * time.Millisecond, Hooks: events.hooks()})
			admin := s.Dial(t)
			lease := acquire(t, client.Mutex("job"))
			if c.renewed {
				events.renewedNow(t)
			}
			if _, err := admin.Do("CONFIG", "SET", "requirepass", "n3w"); err != nil {
				t.Fatal(err)
			}
			if c.renewed {
				if _, err := admin.Do("CLIENT", "KILL", "TYPE", "normal"); err != nil {
					t.Fatal(err)
				}
			}
			lost := await(t, "Lost", events.lost)
			faultIs(t, "Lost", lost.Err, lock.ErrLost)
			if !strings.Contains(lost.Err.Error(), "NOAUTH") {
				t.Errorf("Lost: %v: does not say NOAUTH", lost.Err)
			}
			if late := time.Since(lease.Deadline()); late > faultSlack {
				t.Errorf("told %v after the deadline", late)
			}
			faultIs(t, "Unlock", lease.Unlock(soon(t)), lock.ErrNotHeld, lock.ErrLost)
		})
	}
}
