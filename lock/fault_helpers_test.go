package lock_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultjob"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// The fault tests do to real servers, processes and connections what FAULTS.md's matrix lists; each
// test names the row that it is for. The bounds are those of the design, which says S for the second
// from one look of a waiter to the next and R for an operation limit; what the machine adds is in
// faultSlack.
const (
	faultS     = faultjob.S
	faultR     = faultjob.R
	faultSlack = faultjob.Slack // of scheduling, on a machine that does much else
)

// faultLong is the environment variable that asks for the long forms of tests that make a fault happen
// over and over: as often as FAULTS.md asks, which takes minutes.
const faultLong = "HOLDFAST_TEST_LONG"

// faultSize returns how often a fault is to happen.
func faultSize(short, long int) int {
	if os.Getenv(faultLong) != "" {
		return long
	}
	return short
}

// faultServer returns a private server that knows the scripts, so that each call is one EVALSHA. At
// the end of the test it must have no connection of holdfast's.
func faultServer(t testing.TB, conf ...string) *redistest.Server {
	t.Helper()
	return faultPrepared(t, redistest.Start(t, conf...))
}

// faultWithoutKill returns the proxy's URL for a user whose connections cannot end their predecessors by
// CLIENT KILL: what they gave up is executed when it comes.
func faultWithoutKill(t testing.TB, s *redistest.Server, p *faultproxy.Proxy) string {
	t.Helper()
	s.Do(t, "ACL", "SETUSER", "nokill", "on", ">secret", "~*", "+@all", "-client", "+client|setname")
	u, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("nokill", "secret")
	return u.String()
}

func faultPrepared(t testing.TB, s *redistest.Server) *redistest.Server {
	t.Helper()
	for _, script := range scripts.All() {
		s.Do(t, "SCRIPT", "LOAD", script.Source)
	}
	t.Cleanup(func() {
		redistest.Until(t, "all connections are closed", func() bool { return s.Clients(t, "holdfast:") == 0 })
	})
	return s
}

// faultProxy returns a proxy before the server. At the end of the test all clients must have closed
// their connections.
func faultProxy(t testing.TB, s *redistest.Server) *faultproxy.Proxy {
	t.Helper()
	p := faultproxy.Start(t, s.Network(), s.Addr())
	t.Cleanup(func() {
		p.Heal()
		redistest.Until(t, "all connections are closed", func() bool { return p.Open("") == 0 })
	})
	return p
}

// faultOpen returns a client that is closed with the test.
func faultOpen(t testing.TB, url string, o *lock.Options) *lock.Client {
	t.Helper()
	c, err := lock.Open(url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// faultMet is faultOpen for a client that has a connection for calls already, which no fault keeps
// it from making.
func faultMet(t testing.TB, url string, o *lock.Options) *lock.Client {
	t.Helper()
	c := faultOpen(t, url, o)
	if _, err := c.Owner(soon(t), "nothing"); !errors.Is(err, lock.ErrNotHeld) {
		t.Fatalf("first contact: %v", err)
	}
	return c
}

// A faultResult is what a Lock in the background came to, and when.
type faultResult struct {
	lease *lock.Lease
	err   error
	at    time.Time
}

// faultLock calls Lock in the background.
func faultLock(ctx context.Context, m *lock.Mutex) <-chan faultResult {
	done := make(chan faultResult, 1)
	go func() {
		lease, err := m.Lock(ctx)
		done <- faultResult{lease, err, time.Now()}
	}()
	return done
}

// faultGot returns the lease that a Lock in the background gets, and when.
func faultGot(t testing.TB, from <-chan faultResult) (*lock.Lease, time.Time) {
	t.Helper()
	r := await(t, "the lock", from)
	if r.err != nil {
		t.Fatalf("Lock: %v", r.err)
	}
	return r.lease, r.at
}

// faultPause lets a time pass that is the fault itself.
func faultPause(d time.Duration) { <-time.After(d) }

// faultTook and faultIs fail the test: if more than the limit has passed from began to ended; unless
// the error is every one of those wanted.
var (
	faultTook = faultjob.Took
	faultIs   = faultjob.Is
)

// faultEvents are what a client's hooks told.
type faultEvents struct {
	acquired     chan lock.AcquiredInfo
	waiting      chan lock.WaitingInfo
	renewed      chan lock.RenewedInfo
	failed       chan lock.RenewalFailedInfo
	lost         chan lock.LostInfo
	reconnecting chan lock.ReconnectingInfo
	degraded     chan lock.DegradedInfo
}

func newFaultEvents() *faultEvents {
	const room = 10_000 // more than any test makes
	return &faultEvents{
		make(chan lock.AcquiredInfo, room), make(chan lock.WaitingInfo, room),
		make(chan lock.RenewedInfo, room), make(chan lock.RenewalFailedInfo, room),
		make(chan lock.LostInfo, room), make(chan lock.ReconnectingInfo, room),
		make(chan lock.DegradedInfo, room),
	}
}

func (e *faultEvents) hooks() lock.Hooks {
	return lock.Hooks{
		Acquired:      func(i lock.AcquiredInfo) { e.acquired <- i },
		Waiting:       func(i lock.WaitingInfo) { e.waiting <- i },
		Renewed:       func(i lock.RenewedInfo) { e.renewed <- i },
		RenewalFailed: func(i lock.RenewalFailedInfo) { e.failed <- i },
		Lost:          func(i lock.LostInfo) { e.lost <- i },
		Reconnecting:  func(i lock.ReconnectingInfo) { e.reconnecting <- i },
		Degraded:      func(i lock.DegradedInfo) { e.degraded <- i },
	}
}

// renewedNow waits for a renewal that is confirmed from now on.
func (e *faultEvents) renewedNow(t testing.TB) lock.RenewedInfo {
	t.Helper()
	for len(e.renewed) > 0 {
		<-e.renewed
	}
	return await(t, "a renewal", e.renewed)
}

// faultBlocked waits until n connections block.
func faultBlocked(t testing.TB, s *redistest.Server, n int) {
	t.Helper()
	s.Blocked(t, n)
}

func faultBlockedNow(t testing.TB, c redis.Conn) int {
	t.Helper()
	info, err := redis.String(c.Do("INFO", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	return faultInfo(t, info, "blocked_clients")
}

// faultSpread returns the median and the greatest.
func faultSpread(all []time.Duration) (median, most time.Duration) {
	if len(all) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2].Round(10 * time.Microsecond), sorted[len(sorted)-1].Round(10 * time.Microsecond)
}

func faultInt(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}
