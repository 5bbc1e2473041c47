package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/wire"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 9: a release or its reply is lost. It is repeated once; what is still not known is tried in the
// background.
func TestFaultReleaseReplyLost(t *testing.T) {
	t.Parallel()
	twice := func(fate faultproxy.Fate) func(*faultproxy.Proxy) {
		return func(p *faultproxy.Proxy) {
			p.Catch(fate, wire.Release)
			p.Catch(fate, wire.Release)
		}
	}
	for _, c := range []struct {
		name  string
		fault func(*faultproxy.Proxy)
		want  error
		limit time.Duration
		gone  bool // the lock is released when Unlock returns
	}{
		{
			"the reply",
			func(p *faultproxy.Proxy) { p.Catch(faultproxy.CutReply, wire.Release) },
			nil, locks.Slack, true,
		},
		{
			"the request",
			func(p *faultproxy.Proxy) { p.Catch(faultproxy.CutRequest, wire.Release) },
			nil, locks.Slack, true,
		},
		{"both replies", twice(faultproxy.CutReply), lock.ErrUnknown, locks.Slack, true},
		{"both requests", twice(faultproxy.CutRequest), lock.ErrUnknown, locks.Slack, false},
		{
			"everything",
			func(p *faultproxy.Proxy) { p.Partition("") },
			lock.ErrUnknown, 2*locks.R + locks.Slack, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := locks.Server(t)
			p := locks.Proxy(t, s)
			lease := locks.Acquire(t, locks.Met(t, p.URL(), nil).Mutex("job"))
			events := locks.NewEvents()
			other := locks.Open(t, s.URL(), &lock.Options{Hooks: events.Hooks()})
			next := locks.Later(locks.Soon(t), other.Mutex("job"))
			locks.Await(t, "Waiting", events.Waiting)
			s.Blocked(t, 1)
			c.fault(p)
			began := time.Now()
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // Unlock works all the same
			err := lease.Unlock(ctx)
			took := locks.Took(t, "Unlock", began, time.Now(), c.limit)
			if !errors.Is(err, c.want) {
				t.Errorf("Unlock: %v, want %v", err, c.want)
			}
			if gone := locks.Value(t, s, "lock:job") != lease.ID(); gone != c.gone {
				t.Errorf("released when Unlock returned: %v, want %v", gone, c.gone)
			}
			p.Heal()
			healed := time.Now()
			again, at := locks.Got(t, next)
			t.Logf("Unlock took %v; the next one had the lock %v after the fault", took,
				locks.Took(t, "the background", healed, at, locks.R+locks.Slack))
			locks.Unlock(t, again)
			if same := lease.Unlock(context.Background()); same != err {
				t.Errorf("the second Unlock: %v, the first %v", same, err)
			}
		})
	}
}

// Row 9: the reply to a release is lost, and when the repeat is answered the key would have expired by
// itself. Then nobody knows whether it was released before.
func TestFaultReleaseAfterTheKeysEnd(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	lease := locks.Acquire(t, c.MutexWith("job", &lock.MutexOptions{TTL: 1500 * time.Millisecond, NoRenewal: true}))
	p.Catch(faultproxy.HoldReply, wire.Release) // for as long as an operation may take
	if err := lease.Unlock(locks.Soon(t)); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Unlock: %v", err)
	}
}
