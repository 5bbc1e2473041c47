package lock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 16: snapshots fail, and the server refuses writes until one succeeds. That passes.
func TestFaultMisconf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "dump.rdb")
	s := faultServer(t, "dir "+dir, "save 3600 1000000", "stop-writes-on-bgsave-error yes")
	if err := os.Mkdir(inTheWay, 0o700); err != nil { // no file can be put there, by root neither
		t.Fatal(err)
	}
	client := faultMet(t, s.URL(), nil)
	held := acquire(t, client.Mutex("held"))
	faultSnapshot(t, s, "err")

	began := time.Now()
	_, err := client.Mutex("job").TryLock(soon(t))
	faultTook(t, "TryLock", began, time.Now(), faultSlack)
	faultHasCode(t, "TryLock", err, "MISCONF")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = client.Mutex("job").Lock(ctx)
	faultIs(t, "Lock", err, context.DeadlineExceeded)
	faultHasCode(t, "Lock", err, "MISCONF")
	wait := faultLock(soon(t), client.Mutex("job"))
	faultIs(t, "Unlock", held.Unlock(soon(t)), lock.ErrUnknown)

	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	faultSnapshot(t, s, "ok")
	good := time.Now()
	lease, at := faultGot(t, wait)
	faultTook(t, "Lock", good, at, faultS+faultSlack)
	unlock(t, lease)
	redistest.Until(t, "the background releases", func() bool { return value(t, s, "lock:held") == "" })
}

// faultSnapshot has the server make a snapshot, and waits until it has come to this end.
func faultSnapshot(t *testing.T, s *redistest.Server, end string) {
	t.Helper()
	s.Do(t, "BGSAVE")
	redistest.Until(t, "the snapshot's end is "+end, func() bool {
		info, err := redis.String(s.Do(t, "INFO", "persistence"), nil)
		return err == nil && strings.Contains(info, "rdb_bgsave_in_progress:0") &&
			strings.Contains(info, "rdb_last_bgsave_status:"+end)
	})
}

// Row 17: a server that does not know scripts. That does not pass, and what the server quotes of the call,
// an owner's id among it, is in no error.
func TestFaultNoScripts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, `rename-command EVALSHA ""`, `rename-command EVAL ""`)
	open := func() *lock.Client { return faultOpen(t, s.URL(), &lock.Options{Label: "telltale"}) }
	for name, err := range faultAtOnce(t, open, "telltale") {
		faultHasCode(t, name, err, "unknown command")
	}
}

// Row 18: the server becomes a replica that has lost its master and says nothing else. Lock waits for
// the end of that.
func TestFaultMasterDown(t *testing.T) {
	t.Parallel()
	s := faultServer(t, "replica-serve-stale-data no")
	c := faultMet(t, s.URL(), nil)
	s.Do(t, "REPLICAOF", "127.0.0.1", "1") // nobody listens there
	began := time.Now()
	_, err := c.Mutex("job").TryLock(soon(t))
	faultTook(t, "TryLock", began, time.Now(), faultSlack)
	faultHasCode(t, "TryLock", err, "MASTERDOWN")
	wait := faultLock(soon(t), c.Mutex("job"))
	s.Do(t, "REPLICAOF", "NO", "ONE")
	good := time.Now()
	lease, at := faultGot(t, wait)
	faultTook(t, "Lock", good, at, faultS+faultSlack)
	unlock(t, lease)
}

// Row 18: an operator unblocks who waits, by an error or by a timeout. They wait on.
func TestFaultUnblocked(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"ERROR", "TIMEOUT"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			j := newFaultJob(t, s.URL(), 3*time.Second)
			for range 3 {
				faultBlocked(t, s, 1)
				if n := faultUnblock(t, s, how); n != 1 {
					t.Errorf("unblocked %d connections", n)
				}
			}
			j.GoesOn(t, s)
		})
	}
}

// faultUnblock unblocks all clients that block, and returns how many that were.
func faultUnblock(t *testing.T, s *redistest.Server, how string) int64 {
	t.Helper()
	var n int64
	list, err := redis.String(s.Do(t, "CLIENT", "LIST"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		if strings.Contains(line, " cmd=blpop ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			n += s.Do(t, "CLIENT", "UNBLOCK", id, how).(int64)
		}
	}
	return n
}

// Rows 26 and 27: ten thousand waiters in one client (fewer under the race detector, which allows for
// 8128 goroutines). They cost two connections, one for each 64 names and
// one more, renewals of the same client are on time meanwhile, all who leave leave, and all who stay get
// the lock.
func TestFaultManyWaiters(t *testing.T) {
	t.Parallel()
	const names, most = 100, 2 + 2 + 1
	each := faultCrowd / names
	s := faultServer(t)
	holder := faultMet(t, s.URL(), nil)
	events := newFaultEvents()
	c := faultMet(t, s.URL(), &lock.Options{Label: "crowd", TTL: 6 * time.Second, Hooks: events.hooks()})
	own := acquire(t, c.Mutex("own"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var leases []*lock.Lease
	var stay []<-chan faultResult
	var leave sync.WaitGroup
	for i := range names {
		name := fmt.Sprint("job-", i)
		leases = append(leases, acquire(t, holder.Mutex(name)))
		stay = append(stay, faultLock(soon(t), c.Mutex(name)))
		for range each - 1 {
			leave.Go(func() {
				if _, err := c.Mutex(name).Lock(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("who left: %v", err)
				}
			})
		}
	}
	redistest.Until(t, "all wait", func() bool { return c.Stats().Waiting == names*each })
	events.renewedNow(t)
	if n := s.Clients(t, "holdfast:crowd"); n > most {
		t.Errorf("%d waiters for %d names have %d connections, want at most %d", names*each, names, n, most)
	}
	began := time.Now()
	cancel()
	leave.Wait()
	t.Logf("%d waiters left within %v", names*(each-1), time.Since(began))
	for _, lease := range leases {
		unlock(t, lease)
	}
	released := time.Now()
	for _, wait := range stay {
		lease, at := faultGot(t, wait)
		faultTook(t, "the handover", released, at, faultS+faultSlack)
		unlock(t, lease)
	}
	if len(events.failed) > 0 || len(events.lost) > 0 || !own.Valid() {
		t.Errorf("%d renewals failed meanwhile; the lease is valid: %v", len(events.failed), own.Valid())
	}
	unlock(t, own)
}

// Row 33: four processes for each processor take all of its time while holders are cut off. Their
// leases are not valid any more when others acquire, and they have been told.
func TestFaultStarved(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		redistest.Skip(t, "no shell to keep the processors busy with")
	}
	for range 4 * runtime.NumCPU() {
		burner := exec.Command(shell, "-c", "while :; do :; done")
		if err := burner.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = burner.Process.Kill(); _ = burner.Wait() })
	}
	const n, ttl, margin = 25, 1500 * time.Millisecond, 500 * time.Millisecond
	s := faultServer(t)
	p := faultProxy(t, s)
	holder := faultMet(t, p.URL(), &lock.Options{TTL: ttl, Margin: margin})
	var leases []*lock.Lease
	told := make([]time.Time, n)
	var all sync.WaitGroup
	for i := range n {
		lease := acquire(t, holder.Mutex(fmt.Sprint("job-", i)))
		leases = append(leases, lease)
		all.Go(func() {
			<-lease.Done()
			told[i] = time.Now()
		})
	}
	p.Partition("")
	other := faultOpen(t, s.URL(), nil)
	acquired := make([]time.Time, n)
	for i, lease := range leases {
		all.Go(func() {
			if _, err := other.Mutex(lease.Name()).Lock(soon(t)); err != nil || lease.Valid() {
				t.Errorf("%s: Lock: %v, and the first lease is valid: %v", lease.Name(), err, lease.Valid())
			}
			acquired[i] = time.Now()
		})
	}
	all.Wait()
	var late, slack []time.Duration
	for i, lease := range leases {
		late = append(late, told[i].Sub(lease.Deadline()))
		slack = append(slack, acquired[i].Sub(told[i]))
	}
	median, most := faultSpread(late)
	least := slices.Min(slack)
	t.Logf("told after the deadline: median %v, at most %v; before the other acquired: at least %v, n = %d",
		median, most, least, n)
	if least <= 0 {
		t.Errorf("told %v after another had acquired", -least)
	}
}
