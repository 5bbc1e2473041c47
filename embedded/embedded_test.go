package embedded_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Nothing is left once the clients are closed, whatever they were doing.
func TestNothingIsLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := embedded.New()
	a, b := open(t, s.Open), open(t, s.Open)
	lease, err := a.Mutex("job").TryLock(locks.Soon(t))
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() { waits <- b.Do(context.Background(), "job", nothing) }()
	redistest.Until(t, "it waits", func() bool { return b.Stats().Waiting == 1 })
	_ = b.Close() // before a, which would release the lock
	_ = a.Close()
	if err := <-waits; !errors.Is(err, lock.ErrClosed) {
		t.Errorf("the waiter got %v", err)
	}
	if err := lease.Err(); !errors.Is(err, lock.ErrClosed) {
		t.Errorf("the lease has %v", err)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func nothing(context.Context) error { return nil }

func open(t *testing.T, from func(*lock.Options) (*lock.Client, error)) *lock.Client {
	t.Helper()
	c, err := from(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The clients of one server contend; others are apart.
func TestServersAreApart(t *testing.T) {
	t.Parallel()
	s := embedded.New()
	a, b, other := open(t, s.Open), open(t, s.Open), open(t, embedded.Open)
	for _, c := range []*lock.Client{a, b, other} {
		defer c.Close()
	}
	lease, err := a.Mutex("job").TryLock(locks.Soon(t))
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Unlock(locks.Soon(t))
	if _, err := b.Mutex("job").TryLock(locks.Soon(t)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("of the same server: %v", err)
	}
	if err := other.Do(locks.Soon(t), "job", nothing); err != nil {
		t.Errorf("of another server: %v", err)
	}
}

// Many goroutines of several clients, one at a time.
func TestExclusion(t *testing.T) {
	t.Parallel()
	s := embedded.New()
	var all sync.WaitGroup
	n := 0 // guarded by the lock
	for range 4 {
		c := open(t, s.Open)
		defer c.Close()
		for range 10 {
			all.Go(func() {
				err := c.Do(locks.Soon(t), "job", func(context.Context) error { n++; return nil })
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if n != 40 {
		t.Errorf("%d have run, want 40", n)
	}
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	for _, from := range []func(*lock.Options) (*lock.Client, error){embedded.Open, embedded.New().Open} {
		if c, err := from(&lock.Options{TTL: 1}); c != nil || !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("got %v, %v", c, err)
		}
	}
}

// The pool is one for any use of Redis.
func TestPool(t *testing.T) {
	t.Parallel()
	p := embedded.New().Pool()
	defer p.Close()
	for range 2 { // a connection of the pool is used again
		conn := p.Get()
		if n, err := redis.Int(conn.Do("RPUSH", "list", "a")); n == 0 || err != nil {
			t.Errorf("RPUSH: %d, %v", n, err)
		}
		conn.Close()
	}
	if n := p.Stats().IdleCount; n != 1 {
		t.Errorf("%d connections are idle, want 1", n)
	}
}

// A program that embeds the Redis gets what it is made of, and none of our tests' tools.
func TestDependencies(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		redistest.Skip(t, "there is no go command: "+err.Error())
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{if not .Standard}}{{with .Module}}{{.Path}}{{end}}{{end}}", ".")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	allowed := " github.com/holdfast-go/holdfast github.com/gomodule/redigo github.com/oklog/ulid/v2" +
		" github.com/alicebob/miniredis/v2 github.com/yuin/gopher-lua "
	for module := range strings.FieldsSeq(string(out)) {
		if !strings.Contains(allowed, " "+module+" ") {
			t.Errorf("it needs %s", module)
		}
	}
}
