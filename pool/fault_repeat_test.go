package pool_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// An acquire of any member was not answered, and is executed after its repeat: it takes another
// member than the repeat did, or one that could not be had then. That one is given back, long
// before its TTL is over.
func TestFaultRepeatTakesAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		stray string // what the late acquire takes
		got   string // what the repeat got
		want  error  // of the call
		// keep keeps the members from being taken, until what it returns is called.
		keep func(t *testing.T, other *pool.Pool) (end func())
	}{
		{"after the repeat got one", "b", "a", nil, func(*testing.T, *pool.Pool) func() { return func() {} }},
		{"after all were taken", "a", "", lock.ErrHeld, func(t *testing.T, other *pool.Pool) func() {
			a, b := take(t, other, "a"), take(t, other, "b")
			return func() { unlock(t, a); unlock(t, b) }
		}},
		{"after none was there", "a", "", pool.ErrEmpty, func(t *testing.T, other *pool.Pool) func() {
			reassign(t, other)
			return func() { reassign(t, other, "a", "b") }
		}},
		{"after others were there", "a", "c", nil, func(t *testing.T, other *pool.Pool) func() {
			reassign(t, other, "c")
			return func() { reassign(t, other, "a", "b", "c") }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			proxy := locks.Proxy(t, s)
			other := assign(t, locks.Open(t, s.URL(), nil), nil, "a", "b")
			// Without CLIENT KILL the repeat's connection cannot keep the late one away.
			p := pool.New(locks.Open(t, locks.WithoutKill(t, s, proxy), nil), "lab", nil)
			if _, err := p.Members(locks.Soon(t)); err != nil { // it has a connection, and knows them
				t.Fatal(err)
			}
			end := c.keep(t, other)
			late := proxy.Catch(faultproxy.HoldRequest, scripts.AcquireAny.SHA1)
			lease, err := p.TryLock(locks.Soon(t))
			if !errors.Is(err, c.want) || err == nil && lease.Member() != c.got {
				t.Fatalf("the repeat: %v, %v", lease, err)
			}
			end()
			s.Do(t, "DEL", "lock-fence:{lab}/"+c.stray)
			late.Release()
			redistest.Until(t, "the late one is executed", func() bool {
				return locks.Value(t, s, "lock-fence:{lab}/"+c.stray) != ""
			})
			executed := time.Now()
			redistest.Until(t, "what it took is given back", func() bool {
				return locks.Value(t, s, "lock:{lab}/"+c.stray) == ""
			})
			if took := time.Since(executed); took > 3*time.Second {
				t.Errorf("it was held for %v, want one operation limit of 2 s at most", took)
			}
			if lease != nil {
				if got := locks.Value(t, s, "lock:{lab}/"+c.got); got != lease.ID() {
					t.Errorf("the lease's own lock holds %q, want %q", got, lease.ID())
				}
				unlock(t, lease)
			}
		})
	}
}

// reassign makes these the members.
func reassign(t *testing.T, p *pool.Pool, members ...string) {
	t.Helper()
	if _, _, err := p.Assign(locks.Soon(t), members...); err != nil {
		t.Fatalf("Assign: %v", err)
	}
}

// The member that an acquire got, of which the reply is lost, leaves the pool. The repeat asks for that
// one, too, and has it: it was a member when it was taken.
func TestFaultRepeatFindsWhatHasLeft(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	proxy := locks.Proxy(t, s)
	other := assign(t, locks.Open(t, s.URL(), nil), nil, "a", "b")
	p := pool.New(locks.Open(t, proxy.URL(), nil), "lab", nil)
	if _, err := p.Members(locks.Soon(t)); err != nil { // it has a connection, and knows them
		t.Fatal(err)
	}
	lost := proxy.Catch(faultproxy.HoldReply, scripts.AcquireAny.SHA1)
	got := make(chan *pool.Lease, 1)
	go func() {
		lease, err := p.TryLock(locks.Soon(t))
		if err != nil {
			t.Errorf("TryLock: %v", err)
		}
		got <- lease
	}()
	<-lost.Done()
	reassign(t, other, "b")
	locks.Pause(1100 * time.Millisecond) // then it does not know the members any more
	lost.Reset()
	lease := <-got
	if lease == nil || lease.Member() != "a" {
		t.Fatalf("got %v", lease)
	}
	if held := s.Keys(t, "lock:{lab}/*"); len(held) != 1 {
		t.Errorf("held: %q, want one member", held)
	}
	unlock(t, lease)
}

// The reply to an acquire of any member is lost. The repeat finds the member that it got, and takes
// no second one.
func TestFaultAcquireAnyReplyLost(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	proxy := locks.Proxy(t, s)
	assign(t, locks.Open(t, s.URL(), nil), nil, "a", "b")
	p := pool.New(locks.Open(t, proxy.URL(), nil), "lab", nil)
	if _, err := p.Members(locks.Soon(t)); err != nil {
		t.Fatal(err)
	}
	lost := proxy.Catch(faultproxy.CutReply, scripts.AcquireAny.SHA1)
	lease := take(t, p)
	<-lost.Done()
	if got := locks.Value(t, s, "lock:{lab}/"+lease.Member()); got != lease.ID() {
		t.Errorf("the lock holds %q, the lease's id is %q", got, lease.ID())
	}
	if held := s.Keys(t, "lock:{lab}/*"); len(held) != 1 {
		t.Errorf("held: %q, want one member", held)
	}
	unlock(t, lease)
	if lease := take(t, p); lease.Member() != "a" {
		t.Errorf("the first member is free, got %q", lease.Member())
	}
}
