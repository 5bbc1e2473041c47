package faults_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// A latencyCase is a way to Redis on which a round trip fits into half a renewal's limit.
type latencyCase struct {
	ttl, rtt time.Duration
	dial     int // round trips of a dial before the greeting: TCP, TLS, AUTH, SELECT
}

func latencyCases() []latencyCase {
	var all []latencyCase
	for _, ttl := range []time.Duration{600 * time.Millisecond, 3 * time.Second, 30 * time.Second} {
		limit := min(ttl/6, 2*time.Second)
		for _, rtt := range []int{1, 5, 20, 50, 100, 150, 180, 200, 220, 240, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900} {
			rtt := time.Duration(rtt) * time.Millisecond
			for dial := 1; dial <= 3 && rtt <= limit/2; dial++ {
				// From a renewal's time on there is so much left, for a dial, two pauses and the renewal.
				left := ttl*2/3 - ttl/20
				if time.Duration(dial+2)*rtt+125*time.Millisecond <= left {
					all = append(all, latencyCase{ttl, rtt, dial})
				}
			}
		}
	}
	return all
}

// Row 37: whatever a round trip and a dial take, a lease is kept that loses its connections, and a free
// lock is got. There is no band of round-trip times in which each attempt ends the connection that the
// one before it made.
func TestFaultLatency(t *testing.T) {
	t.Parallel()
	for _, c := range latencyCases() {
		t.Run(fmt.Sprintf("TTL %v, %v, dial %d", c.ttl, c.rtt, c.dial), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, c.test)
		})
	}
}

func (l latencyCase) test(t *testing.T) {
	s := locktest.Start(t)
	inner := s.Pool()
	admin := inner.Get()
	wire.Load(t, admin) // else the first use of each takes two round trips under one limit
	_ = admin.Close()
	_ = inner.Close()
	s.Delay(l.rtt)
	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		t := time.NewTimer(time.Duration(l.dial) * l.rtt)
		defer t.Stop()
		select {
		case <-t.C:
			return inner.Dial()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	c, err := lock.New(pool, &lock.Options{TTL: l.ttl})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lease := l.take(t, c, "job")
	for range 5 {
		time.Sleep(l.ttl * 7 / 5)
		s.Down() // the next renewal finds it broken
		s.Up()
	}
	time.Sleep(2 * l.ttl)
	if err := lease.Err(); err != nil {
		t.Fatalf("lost: %v", err)
	}
	began := time.Now()
	s.Down()
	s.Up()
	free := l.take(t, c, "free")
	if took, most := time.Since(began), 4*time.Second+time.Duration(l.dial)*l.rtt; took > most {
		t.Errorf("a free lock took %v after a lost connection, want at most %v", took, most)
	}
	for _, lease := range []*lock.Lease{free, lease} {
		if err := lease.Unlock(t.Context()); err != nil {
			t.Errorf("Unlock: %v", err)
		}
	}
}

// take takes a lock. Until a client has connected once, who has no more patience is told.
func (l latencyCase) take(t *testing.T, c *lock.Client, name string) *lock.Lease {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		lease, err := c.Mutex(name).Lock(ctx)
		switch {
		case err == nil:
			return lease
		case ctx.Err() != nil:
			t.Fatal(err)
		}
	}
}
