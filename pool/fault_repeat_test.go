package pool_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pool"
)

// An acquire of any member was not answered, and is executed after its repeat: it takes another member
// than the repeat did, or one that was not free then. That one is given back, long before its TTL is over.
func TestFaultRepeatTakesAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		taken  []string // by another client, until the repeat was answered
		stray  string   // what the late acquire takes
		repeat func(t *testing.T, p *pool.Pool) *pool.Lease
	}{
		{"after the repeat got one", nil, "b", func(t *testing.T, p *pool.Pool) *pool.Lease {
			lease := take(t, p)
			if lease.Member() != "a" {
				t.Fatalf("the repeat got %s, want a", lease.Member())
			}
			return lease
		}},
		{"after all were taken", []string{"a", "b"}, "a", func(t *testing.T, p *pool.Pool) *pool.Lease {
			if _, err := p.TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
				t.Fatalf("TryLock: %v, want ErrHeld", err)
			}
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, proxy := faulty(t)
			other := assign(t, open(t, s, nil), nil, "a", "b")
			p := pool.New(openAt(t, proxy.URL()), "lab", nil)
			if _, err := p.Members(soon(t)); err != nil { // it has a connection, and knows them
				t.Fatal(err)
			}
			var theirs []*pool.Lease
			for _, member := range c.taken {
				theirs = append(theirs, take(t, other, member))
			}
			late := proxy.Catch(faultproxy.HoldRequest, scripts.AcquireAny.SHA1)
			lease := c.repeat(t, p)
			for _, l := range theirs {
				unlock(t, l)
			}
			s.Do(t, "DEL", "lock-fence:{lab}/"+c.stray)
			late.Release()
			redistest.Until(t, "the late one is executed", func() bool {
				return value(t, s, "lock-fence:{lab}/"+c.stray) != ""
			})
			executed := time.Now()
			redistest.Until(t, "what it took is given back", func() bool {
				return value(t, s, "lock:{lab}/"+c.stray) == ""
			})
			if took := time.Since(executed); took > 3*time.Second {
				t.Errorf("it was held for %v, want one operation limit of 2 s at most", took)
			}
			if lease != nil {
				if got := value(t, s, "lock:{lab}/a"); got != lease.ID() {
					t.Errorf("the lease's own lock holds %q, want %q", got, lease.ID())
				}
				unlock(t, lease)
			}
		})
	}
}

// The reply to an acquire of any member is lost. The repeat finds the member that it got, and takes no
// second one.
func TestFaultAcquireAnyReplyLost(t *testing.T) {
	t.Parallel()
	s, proxy := faulty(t)
	assign(t, open(t, s, nil), nil, "a", "b")
	p := pool.New(openAt(t, proxy.URL()), "lab", nil)
	if _, err := p.Members(soon(t)); err != nil {
		t.Fatal(err)
	}
	lost := proxy.Catch(faultproxy.CutReply, scripts.AcquireAny.SHA1)
	lease := take(t, p)
	<-lost.Done()
	if got := value(t, s, "lock:{lab}/"+lease.Member()); got != lease.ID() {
		t.Errorf("the lock holds %q, the lease's id is %q", got, lease.ID())
	}
	if held := s.Keys(t, "lock:{lab}/*"); len(held) != 1 {
		t.Errorf("held: %q, want one member", held)
	}
	unlock(t, lease)
}

// faulty returns a server that knows the scripts, so that each call is one EVALSHA, and a proxy before it.
func faulty(t *testing.T) (*redistest.Server, *faultproxy.Proxy) {
	t.Helper()
	s := redistest.Start(t)
	for _, script := range scripts.All() {
		s.Do(t, "SCRIPT", "LOAD", script.Source)
	}
	return s, faultproxy.Start(t, s.Network(), s.Addr())
}

func openAt(t *testing.T, url string) *lock.Client {
	t.Helper()
	c, err := lock.Open(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// value returns what a string key holds: "" for nothing.
func value(t *testing.T, s *redistest.Server, key string) string {
	t.Helper()
	text, err := redis.String(s.Do(t, "GET", key), nil)
	if err != nil && !errors.Is(err, redis.ErrNil) {
		t.Fatalf("GET %s: %v", key, err)
	}
	return text
}
