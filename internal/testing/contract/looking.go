package contract

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// looking is what the calls for operators promise.
var looking = []check{
	{name: "owner", run: owner},
	{name: "reset", run: reset},
	{name: "reset all", run: resetAll},
	{name: "list", run: list},
	{name: "list who waits", run: listWaiters},
}

func owner(e *env) {
	name := e.name("job")
	c := e.labelled("somebody")
	_, err := c.Owner(e.soon(), name)
	e.is("Owner of nothing", err, lock.ErrNotHeld)
	lease := e.take(c.MutexWith(name, &lock.MutexOptions{TTL: 10 * time.Second}))
	o, err := e.client(nil).Owner(e.soon(), name)
	if err != nil {
		e.Fatalf("Owner: %v", err)
	}
	if o.Name != name || o.ID != lease.ID() || o.Label != "somebody" || o.Kept ||
		o.TTL <= 0 || o.TTL > 10*time.Second || time.Since(o.Since) > limit {
		e.Errorf("Owner: %+v", o)
	}
	e.release(lease)

	e.do("SET", "lock:"+name, "another program's")
	o, err = c.Owner(e.soon(), name)
	if err != nil || o.ID != "another program's" || o.Label != "" || o.TTL != lock.NoExpiry {
		e.Errorf("Owner of another program's: %+v, %v", o, err)
	}
	e.do("DEL", "lock:"+name)
}

func reset(e *env) {
	name := e.name("job")
	c := e.client(nil)
	if _, held, err := c.Reset(e.soon(), name); held || err != nil {
		e.Errorf("Reset of nothing: %v, %v", held, err)
	}
	lease := e.take(e.labelled("somebody").Mutex(name))
	was, held, err := c.Reset(e.soon(), name)
	if err != nil || !held || was.Label != "somebody" || was.ID != "" {
		e.Errorf("Reset: %+v, %v, %v", was, held, err)
	}
	e.free(name)
	_ = lease.Unlock(e.soon())
}

// several puts locks under a prefix of the check's own, and what is no lock beside them.
func several(e *env) (c *lock.Client, leases []*lock.Lease) {
	prefix := e.mark + "[*]:"
	c = e.client(&lock.Options{Prefix: prefix, Label: "mine"})
	other := e.client(&lock.Options{Prefix: prefix, Label: "other"})
	for _, m := range []*lock.Mutex{c.Mutex("mine/1"), c.Mutex("mine/2"), other.Mutex("other")} {
		leases = append(leases, e.take(m))
	}
	e.do("SET", prefix+"lock:python", "YWJjZGVm", "PX", 60_000)
	e.do("HSET", prefix+"lock:config", "not", "a lock")
	e.do("SET", e.mark+"*x:lock:mine/3", leases[0].ID(), "PX", 60_000)
	return c, leases
}

var filters = []struct {
	what   string
	filter lock.Filter
	want   []string
}{
	{"a name", lock.Filter{Name: "mine/?"}, []string{"mine/1", "mine/2"}},
	{"a label", lock.Filter{Label: "other"}, []string{"other"}},
	{"an age", lock.Filter{OlderThan: time.Hour}, nil},
	{"all", lock.Filter{All: true}, []string{"mine/1", "mine/2", "other", "python"}},
}

func resetAll(e *env) {
	for _, f := range filters {
		c, leases := several(e)
		was, err := c.ResetAll(e.soon(), f.filter)
		if err != nil {
			e.Errorf("%s: %v", f.what, err)
		}
		if got := names(was); !slices.Equal(got, f.want) {
			e.Errorf("%s: reset %q, want %q", f.what, got, f.want)
		}
		for _, name := range f.want {
			e.is(name, ownerErr(c.Owner(e.soon(), name)), lock.ErrNotHeld)
		}
		if e.number("EXISTS", e.mark+"[*]:lock:config", e.mark+"*x:lock:mine/3") != 2 {
			e.Errorf("%s: something else was touched", f.what)
		}
		for _, lease := range leases {
			_ = lease.Unlock(e.soon())
		}
	}
	c := e.client(nil)
	_, err := c.ResetAll(e.soon(), lock.Filter{})
	e.is("ResetAll of no filter", err, lock.ErrInvalid)
}

func ownerErr(_ lock.Owner, err error) error { return err }

func names(owners []lock.Owner) []string {
	var all []string
	for _, o := range owners {
		all = append(all, o.Name)
	}
	slices.Sort(all)
	return all
}

func list(e *env) {
	c, leases := several(e)
	all := append(filters[:len(filters):len(filters)], filters[len(filters)-1])
	all[len(filters)].what, all[len(filters)].filter = "no filter", lock.Filter{}
	for _, f := range all {
		var owners []lock.Owner
		for o, err := range c.List(e.soon(), f.filter) {
			if err != nil {
				e.Errorf("%s: %v", f.what, err)
				continue
			}
			if o.ID != "" || o.TTL <= 0 || len(o.Waiters) > 0 {
				e.Errorf("%s: %+v", f.what, o)
			}
			owners = append(owners, o)
		}
		if got := names(owners); !slices.Equal(got, f.want) {
			e.Errorf("%s: listed %q, want %q", f.what, got, f.want)
		}
	}
	for _, lease := range leases {
		if !lease.Valid() {
			e.Errorf("List ended a lease: %v", lease.Err())
		}
		e.release(lease)
	}
}

// Who waits appears with the first look of the connection that waits.
func listWaiters(e *env) {
	prefix := e.mark + ":"
	lease := e.take(e.client(&lock.Options{Prefix: prefix}).Mutex("job"))
	c := e.client(&lock.Options{Prefix: prefix, Label: "patient"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 3 {
		go func() { _ = c.Do(ctx, "job", func(context.Context) error { return nil }) }()
	}
	var seen []lock.WaitInfo
	redistest.Until(e, "three wait", func() bool {
		for o, err := range c.List(e.soon(), lock.Filter{}) {
			if err != nil {
				e.Errorf("List: %v", err)
			}
			seen = o.Waiters
		}
		return len(seen) == 1 && seen[0].Count == 3
	})
	if seen[0].Label != "patient" || seen[0].Client == "" {
		e.Errorf("List: %+v", seen)
	}
	cancel()
	e.queued(c, 0)
	e.release(lease)
}
