package lock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 4: a renewal's reply is late or lost. The deadline moves only by a confirmed renewal, and from
// its send on.
func TestFaultRenewalReplyLate(t *testing.T) {
	t.Parallel()
	const ttl, margin = 3 * time.Second, 150 * time.Millisecond
	s := faultServer(t)
	p := faultProxy(t, s)
	events := newFaultEvents()
	c := faultMet(t, p.URL(), &lock.Options{TTL: ttl, Hooks: events.hooks()})
	p.Delay(faultproxy.ToClient, 150*time.Millisecond, "")
	sent := p.Catch(faultproxy.Tell, scripts.Acquire.SHA1)
	lease := acquire(t, c.Mutex("job"))
	if until, latest := lease.Deadline(), sent.At().Add(ttl-margin); until.After(latest) {
		t.Errorf("acquire: the deadline counts from %v after the send", until.Sub(latest))
	}

	sent = p.Catch(faultproxy.Tell, scripts.Extend.SHA1)
	until := await(t, "a renewal", events.renewed).Until
	if latest := sent.At().Add(ttl - margin); until.After(latest) {
		t.Errorf("renewal: the deadline counts from %v after the send", until.Sub(latest))
	}
	p.Heal()
	p.Catch(faultproxy.HoldReply, scripts.Extend.SHA1)
	sent = p.Catch(faultproxy.Tell, scripts.Extend.SHA1)
	failed := await(t, "a renewal fails", events.failed)
	if !failed.Until.Equal(until) {
		t.Errorf("a renewal without a reply moved the deadline by %v", failed.Until.Sub(until))
	}
	again := await(t, "the repeat", events.renewed).Until
	if latest := sent.At().Add(ttl - margin); again.After(latest) || !again.After(until) {
		t.Errorf("repeat: the deadline is %v after the latest and %v after the old one",
			again.Sub(latest), again.Sub(until))
	}
	unlock(t, lease)
}

// Row 5: connections are killed. Nothing is lost, and no renewal fails: the next one sees that its
// connection is gone before it sends anything.
func TestFaultRenewalConnectionKilled(t *testing.T) {
	t.Parallel()
	const clients, kills = 34, 3
	s := faultServer(t)
	var all sync.WaitGroup
	var killed sync.Map
	for i := range clients {
		label, events := fmt.Sprint("client-", i), newFaultEvents()
		c := faultOpen(t, s.URL(), &lock.Options{Label: label, TTL: 2 * time.Second, Hooks: events.hooks()})
		lease := acquire(t, c.Mutex(label))
		conn := s.Dial(t)
		all.Go(func() {
			for range kills {
				<-events.renewed
				faultKillAll(t, conn, "holdfast:"+label, &killed)
			}
			select {
			case <-events.renewed:
			case <-lease.Done():
			}
			if !lease.Valid() {
				t.Errorf("%s: %v", label, lease.Err())
			}
			unlock(t, lease)
		})
	}
	all.Wait()
	n := 0
	killed.Range(func(any, any) bool { n++; return true })
	t.Logf("%d connections killed, %d leases", n, clients)
	if n < clients*kills {
		t.Errorf("killed %d connections, want at least %d", n, clients*kills)
	}
}

// faultKillAll kills the connections of this name.
func faultKillAll(t *testing.T, conn redis.Conn, name string, killed *sync.Map) {
	list, err := redis.String(conn.Do("CLIENT", "LIST"))
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(list) {
		if !strings.Contains(line, " name="+name+" ") {
			continue
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		if _, err := conn.Do("CLIENT", "KILL", "ID", id); err != nil {
			t.Error(err)
		}
		killed.Store(id, nil)
	}
}

// Row 35: a lease is unlocked while its renewal is written. After Unlock no renewal of it is, even
// though the renewals' connection writes slowly.
func TestFaultRenewalAgainstUnlock(t *testing.T) {
	t.Parallel()
	const names, rounds = 40, 250
	s := faultServer(t)
	tap := &faultTap{done: map[string]bool{}}
	pool := &redis.Pool{Dial: func() (redis.Conn, error) {
		conn, err := net.Dial(s.Network(), s.Addr())
		if err != nil {
			return nil, err
		}
		return redis.NewConn(&faultTapConn{conn, tap}, 0, 0), nil
	}}
	c, err := lock.New(pool, &lock.Options{TTL: 50 * time.Millisecond, Label: "tap"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	var all sync.WaitGroup
	for i := range names {
		all.Go(func() {
			for range rounds {
				lease, err := c.Mutex(fmt.Sprint("job-", i)).Lock(soon(t))
				if err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				faultPause(15*time.Millisecond + rand.N(10*time.Millisecond)) // it is renewed at about 17
				if err := lease.Unlock(soon(t)); err != nil && !errors.Is(err, lock.ErrNotHeld) {
					t.Errorf("Unlock: %v", err)
				}
				tap.unlocked(lease.ID())
			}
		})
	}
	all.Wait()
	tap.mu.Lock()
	defer tap.mu.Unlock()
	t.Logf("%d leases, %d renewals written, %d of them late", names*rounds, tap.extends, len(tap.late))
	if tap.extends < names*rounds/20 {
		t.Errorf("only %d renewals were written: this tests nothing", tap.extends)
	}
	for _, id := range tap.late {
		t.Errorf("a renewal of %s was written after its Unlock", id)
	}
}

// A faultTap reads what is written, and slows renewals down.
type faultTap struct {
	mu      sync.Mutex // guards the fields below
	done    map[string]bool
	extends int
	late    []string
}

func (f *faultTap) unlocked(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[id] = true
}

func (f *faultTap) check(ids [][][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, match := range ids {
		if id := string(match[1]); f.done[id] {
			f.late = append(f.late, id)
		}
	}
}

// faultExtend finds the ids in written renewals.
var faultExtend = regexp.MustCompile(scripts.Extend.SHA1 +
	`\r\n\$1\r\n3\r\n(?:\$\d+\r\nlock\S+\r\n){3}\$\d+\r\n(tap/\w{26})\r\n`)

type faultTapConn struct {
	net.Conn
	tap *faultTap
}

// Write looks whether what it writes may be written, before and after it was: Unlock waits for the
// end.
func (c *faultTapConn) Write(b []byte) (int, error) {
	ids := faultExtend.FindAllSubmatch(b, -1)
	if len(ids) == 0 {
		return c.Conn.Write(b)
	}
	c.tap.mu.Lock()
	c.tap.extends += len(ids)
	c.tap.mu.Unlock()
	c.tap.check(ids)
	faultPause(rand.N(3 * time.Millisecond))
	n, err := c.Conn.Write(b)
	c.tap.check(ids)
	return n, err
}
