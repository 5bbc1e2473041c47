package lock_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// Row 1: a holder is killed. Its waiters acquire when its keys expire, by their own timers: they do
// not wait for the next look.
func TestFaultHolderKilled(t *testing.T) {
	t.Parallel()
	const n = 20
	s := faultServer(t)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("job-", i)
	}
	holder := faultStart(t, s.URL())
	holder.tell(t, "lock 1s %s", strings.Join(names, " "))
	holder.says(t, "locked")

	events := newFaultEvents()
	c := faultOpen(t, s.URL(), &lock.Options{Hooks: events.hooks()})
	waits := make([]<-chan faultResult, n)
	for i, name := range names {
		waits[i] = faultLock(faultSoon(t), c.Mutex(name))
	}
	for seen := map[string]bool{}; len(seen) < n; {
		seen[faultAwait(t, "Waiting", events.waiting).Name] = true
	}
	holder.kill()
	redistest.Until(t, "Redis has seen the end", func() bool {
		return s.Clients(t, "holdfast:"+faultVictim) == 0
	})

	expiry := faultExpiries(t, s, names)
	var late []time.Duration
	for i, wait := range waits {
		_, at := faultGot(t, wait)
		if expiry[i].IsZero() {
			continue // it had expired already, on a machine that slow
		}
		late = append(late, at.Sub(expiry[i]))
		if at.Before(expiry[i].Add(-5 * time.Millisecond)) {
			t.Errorf("%s: acquired %v before the expiry", names[i], expiry[i].Sub(at))
		}
	}
	median, most := faultSpread(late)
	t.Logf("acquired after the expiry: median %v, at most %v, n = %d", median, most, len(late))
	if median > 200*time.Millisecond || most > faultS+faultR { // a look would come after 450 ms
		t.Errorf("acquired after the expiry: median %v, at most %v, want 200 ms and 3 s", median, most)
	}
}

// faultExpiries returns when the locks expire, at the earliest; zero for those that have.
func faultExpiries(t *testing.T, s *redistest.Server, names []string) []time.Time {
	t.Helper()
	conn := s.Dial(t)
	expiries := make([]time.Time, len(names))
	for i, name := range names {
		asked := time.Now()
		pttl, err := redis.Int64(conn.Do("PTTL", "lock:"+name))
		if err != nil {
			t.Fatal(err)
		}
		if pttl >= 0 {
			expiries[i] = asked.Add(time.Duration(pttl) * time.Millisecond)
		}
	}
	return expiries
}

// Row 2: a holder is stopped for longer than its TTL. When it goes on it knows at once that it holds
// nothing, it does not touch who holds the lock now, and its fencing token is the smaller one.
func TestFaultHolderStopped(t *testing.T) {
	t.Parallel()
	s := faultServer(t)
	holder := faultStart(t, s.URL())
	holder.tell(t, "lock 500ms job")
	fence, _, _ := strings.Cut(holder.says(t, "locked"), " ")
	stale, err := strconv.ParseInt(fence, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	holder.tell(t, "watch")
	holder.says(t, "watching")
	holder.stop(t)

	c := faultOpen(t, s.URL(), nil)
	lease, _ := faultGot(t, faultLock(faultSoon(t), c.Mutex("job")))
	holder.signal(t, syscall.SIGCONT)
	said := strings.Fields(holder.says(t, "invalid"))
	if said[0] != "0" || said[2] != "true" {
		t.Errorf("%s times valid after the deadline; the cause is ErrLost: %s", said[0], said[2])
	}
	t.Logf("the context ended %s after Valid was false", said[1])
	holder.tell(t, "unlock")
	if said := holder.says(t, "unlocked"); !strings.HasPrefix(said, "true true ") {
		t.Errorf("Unlock is ErrNotHeld, is ErrLost: %s", said)
	}
	if got := faultValue(t, s, "lock:job"); got != lease.ID() {
		t.Errorf("the lock holds %q, want %q", got, lease.ID())
	}
	if stale >= lease.Fence() {
		t.Errorf("fences: the stale one %d, the new one %d", stale, lease.Fence())
	}
	faultUnlock(t, lease)
}

// Rows 3 and 6: a holder is cut off. It is told before anybody else acquires, with the last error.
func TestFaultHolderPartitioned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		cutOff func(*faultproxy.Proxy)
		why    error // of the renewals
	}{
		{"silence", func(p *faultproxy.Proxy) { p.Partition("") }, redisconn.ErrTimeout},
		{"resets", func(p *faultproxy.Proxy) { p.Refuse(true); p.Reset("") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			faultTestPartition(t, c.cutOff, c.why)
		})
	}
}

func faultTestPartition(t *testing.T, cutOff func(*faultproxy.Proxy), why error) {
	const n = 25
	s := faultServer(t)
	p := faultProxy(t, s)
	var mu sync.Mutex // guards the following fields
	told := map[string]time.Time{}
	leases := map[string]*lock.Lease{}
	var slack []time.Duration

	holder := faultMet(t, p.URL(), &lock.Options{
		TTL: time.Second, Margin: 150 * time.Millisecond,
		Hooks: lock.Hooks{Lost: func(i lock.LostInfo) {
			mu.Lock()
			defer mu.Unlock()
			told[i.Name] = time.Now()
		}},
	})
	other := faultOpen(t, s.URL(), &lock.Options{Hooks: lock.Hooks{Acquired: func(i lock.AcquiredInfo) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if lease := leases[i.Name]; lease.Valid() || told[i.Name].IsZero() {
			t.Errorf("%s: acquired by another; the holder's lease is valid: %v, it was told: %v",
				i.Name, lease.Valid(), told[i.Name])
		}
		slack = append(slack, now.Sub(told[i.Name]))
	}}})
	waits := make([]<-chan faultResult, n)
	for i := range n {
		name := fmt.Sprint("job-", i)
		lease := faultTake(t, holder.Mutex(name))
		mu.Lock()
		leases[name] = lease
		mu.Unlock()
		waits[i] = faultLock(faultSoon(t), other.Mutex(name))
	}
	cutOff(p)
	for i := range n {
		faultGot(t, waits[i])
		err := leases[fmt.Sprint("job-", i)].Err()
		faultIs(t, "Err", err, lock.ErrLost, renewal.ErrExpired)
		var last *redisconn.Error
		if !errors.As(err, &last) || why != nil && !errors.Is(err, why) {
			t.Errorf("Err does not wrap the last error: %v", err)
		}
	}
	median, _ := faultSpread(slack)
	least := slack[0]
	for _, one := range slack {
		least = min(least, one)
	}
	t.Logf("told before the other acquired: median %v, at least %v, n = %d", median, least, n)
}

// Row 4: a renewal's reply is late or lost. The deadline moves only by a confirmed renewal, and from
// its send on.
// Row 5: connections are killed. Nothing is lost: there is another one within the attempt.
// faultKillAll kills the connections of this name.
// Row 25: the key is taken away. The holder learns of it at its next renewal, and leaves alone what
// is there now.
func TestFaultKeyTakenAway(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	for _, c := range []struct {
		name  string
		take  func(t *testing.T, s *redistest.Server, operator *lock.Client)
		after string // what the lock holds in the end
	}{
		{"deleted", func(t *testing.T, s *redistest.Server, _ *lock.Client) { s.Do(t, "DEL", "lock:job") }, ""},
		{"reset", func(t *testing.T, _ *redistest.Server, operator *lock.Client) {
			if was, held, err := operator.Reset(faultSoon(t), "job"); !held || err != nil || was.Label == "" {
				t.Errorf("Reset: %v, %v, %v", was, held, err)
			}
		}, ""},
		{"overwritten", func(t *testing.T, s *redistest.Server, _ *lock.Client) {
			s.Do(t, "SET", "lock:job", "foreign")
		}, "foreign"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			events := newFaultEvents()
			holder := faultOpen(t, s.URL(), &lock.Options{TTL: ttl, Hooks: events.hooks()})
			lease := faultTake(t, holder.Mutex("job"))
			ctx, cancel := lease.Context(context.Background())
			defer cancel()
			events.renewedNow(t) // there is a connection
			operator := faultMet(t, s.URL(), nil)
			began := time.Now()
			c.take(t, s, operator)
			faultAwait(t, "the context's end", ctx.Done())
			took := faultTook(t, "to be told", began, time.Now(), ttl/3+ttl/6+faultSlack)
			t.Logf("told after %v", took)
			faultIs(t, "cause", context.Cause(ctx), lock.ErrLost, renewal.ErrNotOwner)
			faultIs(t, "Unlock", lease.Unlock(faultSoon(t)), lock.ErrNotHeld, lock.ErrLost)
			if got := faultValue(t, s, "lock:job"); got != c.after {
				t.Errorf("the lock holds %q, want %q", got, c.after)
			}
		})
	}
}

// Row 35: a lease is unlocked while its renewal is written. After Unlock no renewal of it is, even
// though the renewals' connection writes slowly.
// A faultTap reads what is written, and slows renewals down.
// faultExtend finds the ids in written renewals.
var faultExtend = regexp.MustCompile(scripts.Extend.SHA1 +
	`\r\n\$1\r\n3\r\n(?:\$\d+\r\nlock\S+\r\n){3}\$\d+\r\n(tap/\w{26})\r\n`)

// Write looks whether what it writes may be written, before and after it was: Unlock waits for the
// end.
