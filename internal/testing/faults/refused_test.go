package faults_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 17: what will not pass ends a call at once and is not taken for a lock that is held.
func TestFaultRefused(t *testing.T) {
	t.Parallel()
	s := locks.Server(t, "requirepass s3cret",
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
		open := func() *lock.Client { return locks.Open(t, at(c.user, c.password), nil) }
		for name, err := range locks.AtOnce(t, open, c.password) {
			if !strings.Contains(err.Error(), c.code) {
				t.Errorf("%s, %s: %v: does not say %s", c.name, name, err, c.code)
			}
		}
	}
}

// Row 17: keys of another type. The lock's own is ErrWrongType, and stays.
func TestFaultWrongType(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	s.Do(t, "SADD", "lock:job", "member")
	open := func() *lock.Client { return locks.Met(t, s.URL(), nil) }
	for name, err := range locks.AtOnce(t, open, "") {
		locks.Is(t, name, err, lock.ErrWrongType)
	}
	// It becomes one while somebody waits.
	s.Do(t, "SET", "lock:later", "somebody")
	events := locks.NewEvents()
	c := locks.Met(t, s.URL(), &lock.Options{Hooks: events.Hooks()})
	wait := locks.Later(locks.Soon(t), c.Mutex("later"))
	locks.Await(t, "Waiting", events.Waiting)
	s.Blocked(t, 1)
	s.Do(t, "DEL", "lock:later")
	s.Do(t, "SADD", "lock:later", "member")
	changed := time.Now()
	r := locks.Await(t, "Lock", wait)
	locks.Is(t, "Lock", r.Err, lock.ErrWrongType)
	locks.Took(t, "to be told", changed, r.At, locks.S+locks.Slack)
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
	s := locks.Server(t)
	holder, c := locks.Met(t, s.URL(), nil), locks.Met(t, s.URL(), nil)
	good, bad := locks.Acquire(t, holder.Mutex("good")), locks.Acquire(t, holder.Mutex("bad"))
	waitGood := locks.Later(locks.Soon(t), c.Mutex("good"))
	s.Blocked(t, 1)
	s.Do(t, "SET", "lock-signal:bad", "foreign")
	r := locks.Await(t, "the waiter for the bad one", locks.Later(locks.Soon(t), c.Mutex("bad")))
	locks.Is(t, "Lock", r.Err, lock.ErrWrongType)
	s.Blocked(t, 1)
	locks.Unlock(t, good)
	released := time.Now()
	lease, at := locks.Got(t, waitGood)
	locks.Took(t, "the waiter for the good one", released, at, locks.Slack)
	locks.Unlock(t, lease)
	locks.Unlock(t, bad)
	if got := locks.Value(t, s, "lock-signal:bad"); got != "foreign" {
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
			s := locks.Server(t, c.conf)
			events := locks.NewEvents()
			holder := locks.Met(t, s.URL(), nil)
			waiter := locks.Met(t, s.URL(), &lock.Options{Hooks: events.Hooks()})
			lease := locks.Acquire(t, holder.Mutex("job"))
			wait := locks.Later(locks.Soon(t), waiter.Mutex("job"))
			locks.Await(t, "Degraded", events.Degraded)
			locks.Unlock(t, lease)
			released := time.Now()
			got, at := locks.Got(t, wait)
			t.Logf("acquired %v after the release", locks.Took(t, "the look", released, at, locks.S+locks.Slack))
			locks.Unlock(t, got)

			s.Do(t, "SET", "lock:job", "dead", "PX", 300) // it expires: the timer tells
			expires := time.Now().Add(300 * time.Millisecond)
			got, at = locks.Got(t, locks.Later(locks.Soon(t), waiter.Mutex("job")))
			t.Logf("acquired %v after the expiry", locks.Took(t, "the timer", expires, at, locks.Slack))
			locks.Unlock(t, got)
			if n := len(events.Degraded); n != 0 {
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
			s, events := redistest.Start(t), locks.NewEvents()
			client := locks.Met(t, s.URL(), &lock.Options{TTL: 1200 * time.Millisecond, Hooks: events.Hooks()})
			admin := s.Dial(t)
			lease := locks.Acquire(t, client.Mutex("job"))
			if c.renewed {
				events.RenewedNow(t)
			}
			if _, err := admin.Do("CONFIG", "SET", "requirepass", "n3w"); err != nil {
				t.Fatal(err)
			}
			if c.renewed {
				if _, err := admin.Do("CLIENT", "KILL", "TYPE", "normal"); err != nil {
					t.Fatal(err)
				}
			}
			lost := locks.Await(t, "Lost", events.Lost)
			locks.Is(t, "Lost", lost.Err, lock.ErrLost)
			if !strings.Contains(lost.Err.Error(), "NOAUTH") {
				t.Errorf("Lost: %v: does not say NOAUTH", lost.Err)
			}
			if late := time.Since(lease.Deadline()); late > locks.Slack {
				t.Errorf("told %v after the deadline", late)
			}
			locks.Is(t, "Unlock", lease.Unlock(locks.Soon(t)), lock.ErrNotHeld, lock.ErrLost)
		})
	}
}
