package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 16: states that pass. Lock waits for their end and says what they were if it does not come;
// TryLock returns them; Unlock works without memory.
func TestFaultPassingState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, setting, bad, good string
		unlocks                  bool
	}{
		{"OOM", "maxmemory", "1", "0", true},
		{"NOREPLICAS", "min-replicas-to-write", "1", "0", false},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			client := faultMet(t, s.URL(), nil)
			held := acquire(t, client.Mutex("held"))
			s.Do(t, "CONFIG", "SET", c.setting, c.bad)

			began := time.Now()
			_, err := client.Mutex("job").TryLock(soon(t))
			told := faultTook(t, "TryLock", began, time.Now(), faultSlack)
			faultHasCode(t, "TryLock", err, c.code)
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			_, err = client.Mutex("job").Lock(ctx)
			faultIs(t, "Lock", err, context.DeadlineExceeded)
			faultHasCode(t, "Lock", err, c.code)

			wait := faultLock(soon(t), client.Mutex("job"))
			err = held.Unlock(soon(t))
			if c.unlocks {
				if err != nil || value(t, s, "lock:held") != "" {
					t.Errorf("Unlock: %v, the lock holds %q", err, value(t, s, "lock:held"))
				}
			} else {
				faultIs(t, "Unlock", err, lock.ErrUnknown)
			}
			s.Do(t, "CONFIG", "SET", c.setting, c.good)
			good := time.Now()
			lease, at := faultGot(t, wait)
			took := faultTook(t, "Lock", good, at, faultS+faultSlack)
			t.Logf("TryLock says it after %v; Lock has the lock %v after the end", told, took)
			unlock(t, lease)
			redistest.Until(t, "the background releases", func() bool { return value(t, s, "lock:held") == "" })
		})
	}
}

// faultHasCode fails the test unless the error is this one of Redis's, and no other's.
func faultHasCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if err == nil || !redisconn.HasCode(err, code) && !strings.Contains(err.Error(), code) {
		t.Errorf("%s: %v: does not say %s", what, err, code)
	}
	if errors.Is(err, lock.ErrHeld) {
		t.Errorf("%s: %v: is ErrHeld", what, err)
	}
}

// Row 18: Redis takes no more clients. That passes, at the first contact too.
func TestFaultMaxClients(t *testing.T) {
	t.Parallel()
	s := faultPrepared(t, redistest.StartTCP(t)) // who is refused on a unix socket may see EPIPE only
	admin := s.Dial(t)
	limit := func(n int) {
		if _, err := admin.Do("CONFIG", "SET", "maxclients", n); err != nil {
			t.Fatal(err)
		}
	}
	limit(1)
	c := faultOpen(t, s.URL(), nil)
	began := time.Now()
	_, err := c.Mutex("job").TryLock(soon(t))
	faultTook(t, "TryLock", began, time.Now(), faultSlack)
	faultHasCode(t, "TryLock", err, "max number of clients")
	wait := faultLock(soon(t), c.Mutex("job"))
	limit(100)
	lease, _ := faultGot(t, wait)
	unlock(t, lease)
}

// Row 16: a server that reads its data after a start.
func TestFaultLoading(t *testing.T) {
	t.Parallel()
	// With fsyncs Redis holds writes back while one is under way, and the kill would lose them.
	s := faultServer(t, "appendonly yes", "appendfsync no",
		"key-load-delay 250", "loading-process-events-interval-bytes 1024")
	c := faultMet(t, s.URL(), nil)
	conn := s.Dial(t)
	for i := range 6000 { // it looks after its clients once in a thousand
		if err := conn.Send("SET", fmt.Sprint("key-", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Do(""); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	wait := faultLock(soon(t), c.Mutex("job"))
	tried := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for {
			lease, err := c.Mutex("other").TryLock(ctx)
			if err == nil {
				_ = lease.Unlock(ctx)
			}
			if err == nil || ctx.Err() != nil || redisconn.HasCode(err, "LOADING") {
				tried <- err
				return
			}
		}
	}()
	s.Restart(t)
	faultHasCode(t, "TryLock", await(t, "TryLock", tried), "LOADING")
	lease, _ := faultGot(t, wait)
	unlock(t, lease)
}
