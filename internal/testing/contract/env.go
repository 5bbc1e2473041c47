package contract

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// env is what a check works with.
type env struct {
	*testing.T
	backend Backend
	mark    string // in all keys of this check
}

const (
	// short is the TTL of leases that are to be renewed, or to end, while a check waits. It is as long
	// as a busy machine needs: a lease with less is lost there, as it should be.
	short = 2 * time.Second
	// limit is how long a check waits for what should come soon.
	limit = 20 * time.Second
)

// name returns a lock's name of this check's own.
func (e *env) name(part string) string { return e.mark + "/" + part }

// lacks reports whether the server cannot do something.
func (e *env) lacks(c Capability) bool {
	_, lacks := e.backend.Lacks[c]
	return lacks
}

// client returns a client; nil options are the defaults. A waiter that does not block in Redis gets its
// lock all the same, so it is the hook that shows it.
func (e *env) client(o *lock.Options) *lock.Client {
	e.Helper()
	var all lock.Options
	if o != nil {
		all = *o
	}
	if !e.lacks(Blocking) {
		all.Hooks = lock.JoinHooks(all.Hooks, lock.Hooks{Degraded: func(d lock.Event) {
			e.Errorf("waiting is degraded, and the server is not said to lack %s: %v", Blocking, d.Err)
		}})
	}
	return e.backend.Client(e.T, &all)
}

// labelled returns a client that owners' ids call so.
func (e *env) labelled(label string) *lock.Client {
	e.Helper()
	return e.client(&lock.Options{Label: label})
}

// do sends a command as somebody else.
func (e *env) do(command string, args ...any) any {
	e.Helper()
	return e.backend.Do(e.T, command, args...)
}

// number is do for a command that replies with one.
func (e *env) number(command string, args ...any) int64 {
	e.Helper()
	n, ok := e.do(command, args...).(int64)
	if !ok {
		e.Fatalf("%s does not reply with a number", command)
	}
	return n
}

// soon returns a context that ends long after what it bounds should have happened.
func (e *env) soon() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	e.Cleanup(cancel)
	return ctx
}

// take takes a lock that must be free.
func (e *env) take(m *lock.Mutex) *lock.Lease {
	e.Helper()
	lease, err := m.TryLock(e.soon())
	if err != nil {
		e.Fatalf("TryLock: %v", err)
	}
	return lease
}

// release unlocks a lease that must be held.
func (e *env) release(lease *lock.Lease) {
	e.Helper()
	if err := lease.Unlock(e.soon()); err != nil {
		e.Errorf("Unlock: %v", err)
	}
}

// free checks that nobody holds a lock.
func (e *env) free(name string) {
	e.Helper()
	if n := e.number("EXISTS", "lock:"+name); n != 0 {
		e.Errorf("%s is held", name)
	}
}

// is checks that an error Is all of the wanted ones.
func (e *env) is(what string, err error, wanted ...error) {
	e.Helper()
	for _, want := range wanted {
		if !is(err, want) {
			e.Errorf("%s: %v; want an error that is: %v", what, err, want)
		}
	}
}

// A got is what a Lock that waits came to.
type got struct {
	lease *lock.Lease
	err   error
}

// later locks in a goroutine, which waits for the lock when later returns: somebody must hold it.
func (e *env) later(ctx context.Context, o *lock.Options, name string) <-chan got {
	e.Helper()
	var all lock.Options
	if o != nil {
		all = *o
	}
	refused := make(chan struct{}, 1000)
	all.Hooks.Waiting = func(lock.Event) { refused <- struct{}{} }
	c := e.client(&all)
	done := make(chan got, 1)
	go func() { // it ends with its context, or with its client, which ends with the test
		lease, err := c.Mutex(name).Lock(ctx)
		done <- got{lease, err}
	}()
	await(e, "somebody holds it", refused)
	return done
}

// leased returns the lease that a waiter must get soon.
func (e *env) leased(from <-chan got) *lock.Lease {
	e.Helper()
	g := await(e, "the lock", from)
	if g.err != nil {
		e.Fatalf("Lock: %v", g.err)
	}
	return g.lease
}

// await returns what comes from a channel soon.
func await[V any](e *env, what string, from <-chan V) V {
	e.Helper()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case v := <-from:
		return v
	case <-t.C:
		e.Fatalf("%s: nothing came", what)
		panic("not reached")
	}
}

// whileHeld is await for what comes only while a lease is held.
func whileHeld[V any](e *env, lease *lock.Lease, what string, from <-chan V) V {
	e.Helper()
	select {
	case v := <-from:
		return v
	case <-lease.Done():
		e.Fatalf("%s: the lease has ended: %v", what, lease.Err())
		panic("not reached")
	}
}

// events keeps what hooks are told, in order.
type events chan string

func (ev events) add(format string, args ...any) { ev <- fmt.Sprintf(format, args...) }
