package faults_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 16: snapshots fail, and the server refuses writes until one succeeds. That passes.
func TestFaultMisconf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "dump.rdb")
	s := locks.Server(t, "dir "+dir, "save 3600 1000000", "stop-writes-on-bgsave-error yes")
	if err := os.Mkdir(inTheWay, 0o700); err != nil { // no file can be put there, by root neither
		t.Fatal(err)
	}
	client := locks.Met(t, s.URL(), nil)
	held := locks.Acquire(t, client.Mutex("held"))
	snapshot(t, s, "err")

	began := time.Now()
	_, err := client.Mutex("job").TryLock(locks.Soon(t))
	locks.Took(t, "TryLock", began, time.Now(), locks.Slack)
	locks.Says(t, "TryLock", err, "MISCONF")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = client.Mutex("job").Lock(ctx)
	locks.Is(t, "Lock", err, context.DeadlineExceeded)
	locks.Says(t, "Lock", err, "MISCONF")
	wait := locks.Later(locks.Soon(t), client.Mutex("job"))
	locks.Is(t, "Unlock", held.Unlock(locks.Soon(t)), lock.ErrUnknown)

	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	snapshot(t, s, "ok")
	good := time.Now()
	lease, at := locks.Got(t, wait)
	locks.Took(t, "Lock", good, at, locks.S+locks.Slack)
	locks.Unlock(t, lease)
	redistest.Until(t, "the background releases", func() bool { return locks.Value(t, s, "lock:held") == "" })
}

// snapshot has the server make a snapshot, and waits until it has come to this end.
func snapshot(t *testing.T, s *redistest.Server, end string) {
	t.Helper()
	s.Do(t, "BGSAVE")
	redistest.Until(t, "the snapshot's end is "+end, func() bool {
		info, err := redis.String(s.Do(t, "INFO", "persistence"), nil)
		return err == nil && strings.Contains(info, "rdb_bgsave_in_progress:0") &&
			strings.Contains(info, "rdb_last_bgsave_status:"+end)
	})
}

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
			s := locks.Server(t)
			client := locks.Met(t, s.URL(), nil)
			held := locks.Acquire(t, client.Mutex("held"))
			s.Do(t, "CONFIG", "SET", c.setting, c.bad)

			began := time.Now()
			_, err := client.Mutex("job").TryLock(locks.Soon(t))
			told := locks.Took(t, "TryLock", began, time.Now(), locks.Slack)
			locks.Says(t, "TryLock", err, c.code)
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			_, err = client.Mutex("job").Lock(ctx)
			locks.Is(t, "Lock", err, context.DeadlineExceeded)
			locks.Says(t, "Lock", err, c.code)

			wait := locks.Later(locks.Soon(t), client.Mutex("job"))
			err = held.Unlock(locks.Soon(t))
			if c.unlocks {
				if err != nil || locks.Value(t, s, "lock:held") != "" {
					t.Errorf("Unlock: %v, the lock holds %q", err, locks.Value(t, s, "lock:held"))
				}
			} else {
				locks.Is(t, "Unlock", err, lock.ErrUnknown)
			}
			s.Do(t, "CONFIG", "SET", c.setting, c.good)
			good := time.Now()
			lease, at := locks.Got(t, wait)
			took := locks.Took(t, "Lock", good, at, locks.S+locks.Slack)
			t.Logf("TryLock says it after %v; Lock has the lock %v after the end", told, took)
			locks.Unlock(t, lease)
			redistest.Until(t, "the background releases", func() bool { return locks.Value(t, s, "lock:held") == "" })
		})
	}
}

// Row 18: Redis takes no more clients. That passes, at the first contact too.
func TestFaultMaxClients(t *testing.T) {
	t.Parallel()
	s := locks.Prepared(t, redistest.StartTCP(t)) // who is refused on a unix socket may see EPIPE only
	admin := s.Dial(t)
	limit := func(n int) {
		if _, err := admin.Do("CONFIG", "SET", "maxclients", n); err != nil {
			t.Fatal(err)
		}
	}
	limit(1)
	c := locks.Open(t, s.URL(), nil)
	began := time.Now()
	_, err := c.Mutex("job").TryLock(locks.Soon(t))
	locks.Took(t, "TryLock", began, time.Now(), locks.Slack)
	locks.Says(t, "TryLock", err, "max number of clients")
	wait := locks.Later(locks.Soon(t), c.Mutex("job"))
	limit(100)
	lease, _ := locks.Got(t, wait)
	locks.Unlock(t, lease)
}

// Row 16: a server that reads its data after a start.
func TestFaultLoading(t *testing.T) {
	t.Parallel()
	// With fsyncs Redis holds writes back while one is under way, and the kill would lose them.
	s := locks.Server(t, "appendonly yes", "appendfsync no",
		"key-load-delay 250", "loading-process-events-interval-bytes 1024")
	c := locks.Met(t, s.URL(), nil)
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
	wait := locks.Later(locks.Soon(t), c.Mutex("job"))
	tried := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for {
			lease, err := c.Mutex("other").TryLock(ctx)
			if err == nil {
				_ = lease.Unlock(ctx)
			}
			if err == nil || ctx.Err() != nil || strings.Contains(fmt.Sprint(err), "LOADING") {
				tried <- err
				return
			}
		}
	}()
	s.Restart(t)
	locks.Says(t, "TryLock", locks.Await(t, "TryLock", tried), "LOADING")
	lease, _ := locks.Got(t, wait)
	locks.Unlock(t, lease)
}
