package lock_test

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// A call of a hook: who is told, how it comes about, and what the hook may meet.
type hookCall struct {
	hook, how string
	conf      string                 // of the server
	options   lock.Options           // with TTL 6 s unless it says otherwise
	provoke   func(*hookScene) error // on a goroutine of its own; nil: the lease is enough
	noLease   bool                   // the hook is not to wait for the lease of "job"
	refuses   bool                   // nothing can be acquired when the hook is called
}

// A hookScene is where it happens.
type hookScene struct {
	t      *testing.T
	client *lock.Client
	admin  redis.Conn
	leases chan *lock.Lease // the one of "job", for the hook
}

// take takes the lock "job", and hands its lease to the hook.
func (s *hookScene) take() (*lock.Lease, error) {
	lease, err := s.client.Mutex("job").Lock(soon(s.t))
	if err == nil {
		s.leases <- lease
	}
	return lease, err
}

// do takes the lock and then lets Redis execute a command.
func (s *hookScene) do(command string, args ...any) error {
	if _, err := s.take(); err != nil {
		return err
	}
	_, err := s.admin.Do(command, args...)
	return err
}

// wait waits for a lock that somebody else holds, and lets then happen once it blocks.
func (s *hookScene) wait(then func() error) error {
	if _, err := s.admin.Do("SET", "lock:job", "x", "PX", 1500); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.take()
		done <- err
	}()
	if err := then(); err != nil {
		return err
	}
	return <-done
}

// killAll cuts the client's connections once one of them blocks.
func (s *hookScene) killAll() error {
	for blocked := false; !blocked && s.t.Context().Err() == nil; {
		info, err := redis.String(s.admin.Do("INFO", "clients"))
		if err != nil {
			return err
		}
		blocked = !strings.Contains(info, "blocked_clients:0")
	}
	_, err := s.admin.Do("CLIENT", "KILL", "TYPE", "normal")
	return err
}

// extend makes the lease's Extend find what Redis was told.
func (s *hookScene) extend(command string, args ...any) error {
	lease, err := s.take()
	if err != nil {
		return err
	}
	if _, err := s.admin.Do(command, args...); err != nil {
		return err
	}
	_ = lease.Extend(soon(s.t), 20*time.Second) // it is the hook that counts
	return nil
}

// drop takes the lock, forgets its lease and collects the garbage.
func (s *hookScene) drop(told <-chan struct{}) error {
	if _, err := s.client.Mutex("job").Lock(soon(s.t)); err != nil {
		return err
	}
	for {
		select {
		case <-told:
			return nil
		case <-s.t.Context().Done():
			return nil
		default:
			runtime.GC()
		}
	}
}

func nothing() error { return nil }

// hookCalls has every way in which a hook is called that has a goroutine of its own.
func hookCalls() []hookCall {
	plain := lock.Options{NoRenewal: true, TTL: 10 * time.Second}
	closes := func(s *hookScene) error {
		if _, err := s.take(); err != nil {
			return err
		}
		return s.client.Close()
	}
	unlocks := func(s *hookScene) error {
		lease, err := s.take()
		if err != nil {
			return err
		}
		return lease.Unlock(context.Background())
	}
	return []hookCall{
		{hook: "Acquired", noLease: true},
		{hook: "Waiting", noLease: true, provoke: func(s *hookScene) error { return s.wait(nothing) }},
		{hook: "Renewed"},
		{
			hook: "RenewalFailed", refuses: true,
			provoke: func(s *hookScene) error { return s.do("CONFIG", "SET", "min-replicas-to-write", 1) },
		},
		{hook: "Lost", how: "by renewal", provoke: func(s *hookScene) error { return s.do("DEL", "lock:job") }},
		{hook: "Lost", how: "by its timer", options: lock.Options{NoRenewal: true, TTL: 300 * time.Millisecond}},
		{
			hook: "Lost", how: "by Extend", options: plain,
			provoke: func(s *hookScene) error { return s.extend("DEL", "lock:job") },
		},
		{hook: "Lost", how: "by Close", options: plain, provoke: closes, refuses: true},
		{hook: "Released", how: "by Unlock", provoke: unlocks},
		{hook: "Released", how: "by Close", options: plain, provoke: closes, refuses: true},
		{
			hook: "Retrying", noLease: true, refuses: true,
			provoke: func(s *hookScene) error {
				_, err := s.admin.Do("CONFIG", "SET", "min-replicas-to-write", 1)
				_, _ = s.client.Mutex("job").Lock(shortly(s.t)) // it is the hook that counts
				return err
			},
		},
		{hook: "Reconnecting", noLease: true, provoke: func(s *hookScene) error { return s.wait(s.killAll) }},
		{
			hook: "Degraded", noLease: true, conf: `rename-command BLPOP ""`,
			provoke: func(s *hookScene) error { return s.wait(nothing) },
		},
		{hook: "Leaked", noLease: true},
		{
			hook: "Warning", how: "by renewal",
			provoke: func(s *hookScene) error { return s.do("PEXPIRE", "lock:job", 3_600_000) },
		},
		{
			hook: "Warning", how: "by Extend", options: plain,
			provoke: func(s *hookScene) error { return s.extend("PEXPIRE", "lock:job", 3_600_000) },
		},
	}
}

// A hook may call everything but Close and Shutdown. Each mutex of the client is taken by something
// that useAll calls, so one that was held while the hook is called would keep it for ever.
func TestHooksMayCallBack(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[lock.Hooks]()
	missing := make(map[string]bool)
	for i := range fields.NumField() {
		missing[fields.Field(i).Name] = true
	}
	for _, c := range hookCalls() {
		field, ok := fields.FieldByName(c.hook)
		if !ok {
			t.Errorf("there is no hook %s", c.hook)
			continue
		}
		delete(missing, c.hook)
		t.Run(c.hook+" "+c.how, func(t *testing.T) {
			t.Parallel()
			c.run(t, field.Index[0])
		})
	}
	for name := range missing {
		t.Errorf("nobody calls back from %s", name)
	}
}

func (c *hookCall) run(t *testing.T, field int) {
	s := &hookScene{t: t, leases: make(chan *lock.Lease, 1)}
	server := redistest.Start(t, c.conf)
	s.admin = server.Dial(t)
	told, done := make(chan struct{}), make(chan error, 1)
	var once atomic.Bool // what useAll does calls hooks as well
	c.options.Hooks = only(field, func(e lock.Event) {
		if !once.CompareAndSwap(false, true) {
			return
		}
		checkEvent(t, c.hook, e)
		var lease *lock.Lease
		if !c.noLease {
			lease = <-s.leases
		}
		done <- useAll(t, s.client, lease)
		close(told)
	})
	if c.options.TTL == 0 {
		c.options.TTL = 6 * time.Second // a renewal after 2 s, and time enough on a busy machine
	}
	var err error
	if s.client, err = lock.Open(server.URL(), &c.options); err != nil {
		t.Fatal(err)
	}
	provoked := make(chan error, 1)
	go func() { provoked <- c.happen(s, told) }()
	// Not closed before: one that hangs would hang in Close, too.
	if err := await(t, "the end of the hook", done); (err != nil) != c.refuses {
		t.Errorf("acquiring in the hook: %v", err)
	}
	if err := await(t, "what calls the hook", provoked); err != nil {
		t.Errorf("before the hook: %v", err)
	}
	if err := s.client.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func (c *hookCall) happen(s *hookScene, told <-chan struct{}) error {
	switch {
	case c.hook == "Leaked":
		return s.drop(told)
	case c.provoke != nil:
		return c.provoke(s)
	}
	_, err := s.take()
	return err
}

// useAll calls what hooks may call, and returns the error of acquiring a lock.
func useAll(t *testing.T, c *lock.Client, lease *lock.Lease) error {
	if lease != nil {
		useLease(lease)
	}
	_, _ = c.Owner(soon(t), "job")
	_, _ = c.Mutex("other").TryLock(shortly(t))
	_, _, _ = c.Reset(shortly(t), "other")
	_, _ = c.ResetAll(shortly(t), lock.Filter{Label: "nobody's"})
	mine, err := c.Mutex("mine").Lock(shortly(t))
	if err == nil {
		useLease(mine)
	}
	return err
}

func useLease(l *lock.Lease) {
	ctx, cancel := l.Context(context.Background())
	_, _, _, _, _ = l.Valid(), l.Err(), l.Deadline(), l.Fence(), l.ID()
	_ = l.Extend(ctx, time.Minute)
	cancel()
	_ = l.Unlock(context.Background())
	<-l.Done()
}

// shortly returns a context that bounds what may be refused for ever.
func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	t.Cleanup(cancel)
	return ctx
}
