package locktest_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// Outside of bubbles the server runs by the machine's clock.
func TestRealTime(t *testing.T) {
	t.Parallel()
	s := locktest.Start(t)
	const ttl = 2 * time.Second // a shorter one is lost on a busy machine, as it should be
	c := s.Client(t, &lock.Options{TTL: ttl})
	began := time.Now()
	s.Steal("job", 200*time.Millisecond)
	lease, err := c.Mutex("job").Lock(locks.Soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited < 200*time.Millisecond {
		t.Errorf("the thief had it for %v only", waited)
	}
	for until := lease.Deadline(); lease.Deadline().Before(until.Add(ttl)); {
		select {
		case <-lease.Done():
			t.Fatal(lease.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := lease.Unlock(locks.Soon(t)); err != nil {
		t.Error(err)
	}
}

// Nothing is left at the end of a test, whatever its clients were doing.
func TestNothingIsLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	test := &example{}
	s := locktest.Start(test)
	a, b := s.Client(test, nil), s.Client(test, &lock.Options{KeepOnClose: true})
	lease := locks.Acquire(t, b.Mutex("job"))
	waits := make(chan error, 1)
	go func() { waits <- a.Do(context.Background(), "job", nothing) }()
	pool := s.Pool()
	defer pool.Close()
	conn := pool.Get()
	defer conn.Close()
	if _, err := conn.Do("PING"); err != nil {
		t.Fatal(err)
	}
	giveBack := s.Steal("other", time.Minute)
	test.end()
	giveBack()
	if err := <-waits; !errors.Is(err, lock.ErrClosed) {
		t.Errorf("the waiter got %v", err)
	}
	if err := lease.Err(); !errors.Is(err, lock.ErrClosed) {
		t.Errorf("the lease has %v", err)
	}
	if _, err := pool.Dial(); err == nil {
		t.Error("the server outlived its test")
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func nothing(context.Context) error { return nil }

// refusal is a test that notes how it was ended.
type refusal struct {
	testing.TB
	text string
}

func (r *refusal) Helper() {}

func (r *refusal) Fatalf(format string, _ ...any) {
	r.text = format
	panic(r)
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	r := &refusal{TB: t}
	s := locktest.Start(r)
	for what, misuse := range map[string]func(){
		"a TTL of 0":     func() { s.Steal("job", 0) },
		"a negative TTL": func() { s.Steal("job", -time.Second) },
		"a bad option":   func() { s.Client(r, &lock.Options{TTL: 1}) },
	} {
		r.text = ""
		func() {
			defer func() { _ = recover() }()
			misuse()
		}()
		if r.text == "" {
			t.Errorf("%s does not end the test", what)
		}
	}
}

// What is for our own tests does not come along with what is for everybody's.
func TestDependencies(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("SKIP %s: there is no go command: %v", t.Name(), err)
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
