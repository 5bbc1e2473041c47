package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/lock"
)

// Row 9: a release or its reply is lost. It is repeated once; what is still not known is tried in the
// background.
func TestFaultReleaseReplyLost(t *testing.T) {
	t.Parallel()
	twice := func(fate faultproxy.Fate) func(*faultproxy.Proxy) {
		return func(p *faultproxy.Proxy) {
			p.Catch(fate, scripts.Release.SHA1)
			p.Catch(fate, scripts.Release.SHA1)
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
			func(p *faultproxy.Proxy) { p.Catch(faultproxy.CutReply, scripts.Release.SHA1) },
			nil, faultSlack, true,
		},
		{
			"the request",
			func(p *faultproxy.Proxy) { p.Catch(faultproxy.CutRequest, scripts.Release.SHA1) },
			nil, faultSlack, true,
		},
		{"both replies", twice(faultproxy.CutReply), lock.ErrUnknown, faultSlack, true},
		{"both requests", twice(faultproxy.CutRequest), lock.ErrUnknown, faultSlack, false},
		{
			"everything",
			func(p *faultproxy.Proxy) { p.Partition("") },
			lock.ErrUnknown, 2*faultR + faultSlack, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faultServer(t)
			p := faultProxy(t, s)
			lease := acquire(t, faultMet(t, p.URL(), nil).Mutex("job"))
			events := newFaultEvents()
			other := faultOpen(t, s.URL(), &lock.Options{Hooks: events.hooks()})
			next := faultLock(soon(t), other.Mutex("job"))
			await(t, "Waiting", events.waiting)
			faultBlocked(t, s, 1)
			c.fault(p)
			began := time.Now()
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // Unlock works all the same
			err := lease.Unlock(ctx)
			took := faultTook(t, "Unlock", began, time.Now(), c.limit)
			if !errors.Is(err, c.want) {
				t.Errorf("Unlock: %v, want %v", err, c.want)
			}
			if gone := value(t, s, "lock:job") != lease.ID(); gone != c.gone {
				t.Errorf("released when Unlock returned: %v, want %v", gone, c.gone)
			}
			p.Heal()
			healed := time.Now()
			again, at := faultGot(t, next)
			t.Logf("Unlock took %v; the next one had the lock %v after the fault", took,
				faultTook(t, "the background", healed, at, faultR+faultSlack))
			unlock(t, again)
			if same := lease.Unlock(context.Background()); same != err {
				t.Errorf("the second Unlock: %v, the first %v", same, err)
			}
		})
	}
}
