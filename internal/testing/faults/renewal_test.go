package faults_test

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

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 4: a renewal's reply is late or lost. The deadline moves only by a confirmed renewal, and from
// its send on.
func TestFaultRenewalReplyLate(t *testing.T) {
	t.Parallel()
	const ttl, margin = 3 * time.Second, 150 * time.Millisecond
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	events := locks.NewEvents()
	c := locks.Met(t, p.URL(), &lock.Options{TTL: ttl, Hooks: events.Hooks()})
	p.Delay(faultproxy.ToClient, 150*time.Millisecond, "")
	sent := p.Catch(faultproxy.Tell, wire.Acquire)
	lease := locks.Acquire(t, c.Mutex("job"))
	if until, latest := lease.Deadline(), sent.At().Add(ttl-margin); until.After(latest) {
		t.Errorf("acquire: the deadline counts from %v after the send", until.Sub(latest))
	}

	sent = p.Catch(faultproxy.Tell, wire.Extend)
	until := locks.Await(t, "a renewal", events.Renewed).Until
	if latest := sent.At().Add(ttl - margin); until.After(latest) {
		t.Errorf("renewal: the deadline counts from %v after the send", until.Sub(latest))
	}
	p.Heal()
	p.Catch(faultproxy.HoldReply, wire.Extend)
	sent = p.Catch(faultproxy.Tell, wire.Extend)
	failed := locks.Await(t, "a renewal fails", events.Failed)
	if !failed.Until.Equal(until) {
		t.Errorf("a renewal without a reply moved the deadline by %v", failed.Until.Sub(until))
	}
	again := locks.Await(t, "the repeat", events.Renewed).Until
	if latest := sent.At().Add(ttl - margin); again.After(latest) || !again.After(until) {
		t.Errorf("repeat: the deadline is %v after the latest and %v after the old one",
			again.Sub(latest), again.Sub(until))
	}
	locks.Unlock(t, lease)
}

// Row 5: connections are killed. Nothing is lost, and no renewal fails: the next one sees that its
// connection is gone before it sends anything.
func TestFaultRenewalConnectionKilled(t *testing.T) {
	t.Parallel()
	const clients, kills = 34, 3
	s := locks.Server(t)
	var all sync.WaitGroup
	var killed sync.Map
	for i := range clients {
		label, events := fmt.Sprint("client-", i), locks.NewEvents()
		c := locks.Open(t, s.URL(), &lock.Options{Label: label, TTL: 2 * time.Second, Hooks: events.Hooks()})
		lease := locks.Acquire(t, c.Mutex(label))
		conn := s.Dial(t)
		all.Go(func() {
			for range kills {
				<-events.Renewed
				killAll(t, conn, "holdfast:"+label, &killed)
			}
			select {
			case <-events.Renewed:
			case <-lease.Done():
			}
			if !lease.Valid() {
				t.Errorf("%s: %v", label, lease.Err())
			}
			locks.Unlock(t, lease)
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

// killAll kills the connections of this name.
func killAll(t *testing.T, conn redis.Conn, name string, killed *sync.Map) {
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
	s := locks.Server(t)
	tap := &tap{done: map[string]bool{}}
	pool := &redis.Pool{Dial: func() (redis.Conn, error) {
		conn, err := net.Dial(s.Network(), s.Addr())
		if err != nil {
			return nil, err
		}
		return redis.NewConn(&tapConn{conn, tap}, 0, 0), nil
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
				lease, err := c.Mutex(fmt.Sprint("job-", i)).Lock(locks.Soon(t))
				if err != nil {
					t.Errorf("Lock: %v", err)
					return
				}
				locks.Pause(15*time.Millisecond + rand.N(10*time.Millisecond)) // it is renewed at about 17
				if err := lease.Unlock(locks.Soon(t)); err != nil && !errors.Is(err, lock.ErrNotHeld) {
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

// A tap reads what is written, and slows renewals down.
type tap struct {
	mu      sync.Mutex // guards the fields below
	done    map[string]bool
	extends int
	late    []string
}

func (f *tap) unlocked(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[id] = true
}

func (f *tap) check(ids [][][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, match := range ids {
		if id := string(match[1]); f.done[id] {
			f.late = append(f.late, id)
		}
	}
}

// extendCall finds the ids in written renewals.
var extendCall = regexp.MustCompile(wire.Extend +
	`\r\n\$1\r\n3\r\n(?:\$\d+\r\nlock\S+\r\n){3}\$\d+\r\n(tap/\w{26})\r\n`)

type tapConn struct {
	net.Conn
	tap *tap
}

// Write looks whether what it writes may be written, before and after it was: Unlock waits for the
// end.
func (c *tapConn) Write(b []byte) (int, error) {
	ids := extendCall.FindAllSubmatch(b, -1)
	if len(ids) == 0 {
		return c.Conn.Write(b)
	}
	c.tap.mu.Lock()
	c.tap.extends += len(ids)
	c.tap.mu.Unlock()
	c.tap.check(ids)
	locks.Pause(rand.N(3 * time.Millisecond))
	n, err := c.Conn.Write(b)
	c.tap.check(ids)
	return n, err
}
