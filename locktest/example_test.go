package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// example stands for the *testing.T that your test has.
type example struct{ cleanups []func() }

func (e *example) Helper()                           {}
func (e *example) Cleanup(f func())                  { e.cleanups = append(e.cleanups, f) }
func (e *example) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func (e *example) end() {
	for _, f := range slices.Backward(e.cleanups) {
		f()
	}
}

// A client in one line.
func ExampleClient() {
	t := &example{} // your *testing.T
	defer t.end()

	c := locktest.Client(t)
	err := c.Do(context.Background(), "import", func(context.Context) error {
		fmt.Println("importing")
		return nil
	})
	fmt.Println(err)
	// Output:
	// importing
	// <nil>
}

// Two hosts that contend.
func ExampleStart() {
	t := &example{} // your *testing.T
	defer t.end()
	ctx := context.Background()

	s := locktest.Start(t)
	a := s.Client(t, &lock.Options{Label: "host a"})
	b := s.Client(t, &lock.Options{Label: "host b"})
	lease, _ := a.Mutex("import").TryLock(ctx)
	defer lease.Unlock(ctx)

	_, err := b.Mutex("import").TryLock(ctx)
	var held *lock.HeldError
	if errors.As(err, &held) {
		fmt.Println("held by", held.Owner.Label)
	}
	// Output: held by host a
}

// The time of a lease is up: here the job asks before its next step, and stops.
func ExampleServer_Expire() {
	t := &example{} // your *testing.T
	defer t.end()

	s := locktest.Start(t)
	c := s.Client(t, &lock.Options{TTL: 3 * time.Second})
	err := c.Do(context.Background(), "import", func(ctx context.Context) error {
		s.Expire("import")
		<-ctx.Done()
		fmt.Println("stopped:", context.Cause(ctx))
		return nil
	})
	fmt.Println(errors.Is(err, lock.ErrLost), errors.Is(err, lock.ErrNotHeld))
	// Output:
	// stopped: lock "import": lease lost: Redis says that nobody holds it
	// true true
}

// Somebody else takes the lock of a running job, or has it when the job wants to begin.
func ExampleServer_Steal() {
	t := &example{} // your *testing.T
	defer t.end()

	s := locktest.Start(t)
	c := s.Client(t, &lock.Options{TTL: 300 * time.Millisecond})
	err := c.Do(context.Background(), "import", func(ctx context.Context) error {
		s.Steal("import", time.Minute)
		<-ctx.Done()
		return ctx.Err()
	})
	fmt.Println("lost:", errors.Is(err, lock.ErrLost))

	giveBack := s.Steal("export", time.Minute)
	_, err = c.Mutex("export").TryLock(context.Background())
	fmt.Println("held:", errors.Is(err, lock.ErrHeld))
	giveBack()
	lease, err := c.Mutex("export").TryLock(context.Background())
	fmt.Println("then:", err, lease.Unlock(context.Background()))
	// Output:
	// lost: true
	// held: true
	// then: <nil> <nil>
}

// A program that makes its client itself, from a pool, and calls its locks as redis-py does: the
// test says so too, because the server cannot know.
func ExampleServer_Pool() {
	t := &example{} // your *testing.T
	defer t.end()
	s := locktest.Start(t)
	s.KeyFormat = "%s"
	defer s.Steal("import", time.Minute)()

	program := func(p *redis.Pool) error { // what is tested
		c, err := lock.New(p, &lock.Options{KeyFormat: "%s"})
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Mutex("import").TryLock(context.Background())
		return err
	}
	fmt.Println("held:", errors.Is(program(s.Pool()), lock.ErrHeld))
	// Output: held: true
}

// Redis is slower than the lease is long: it cannot be renewed in time.
func ExampleServer_Delay() {
	t := &example{} // your *testing.T
	defer t.end()

	s := locktest.Start(t)
	c := s.Client(t, &lock.Options{TTL: 300 * time.Millisecond})
	err := c.Do(context.Background(), "import", func(ctx context.Context) error {
		s.Delay(time.Minute)
		<-ctx.Done()
		s.Delay(0)
		return nil
	})
	fmt.Println(errors.Is(err, lock.ErrLost))
	// Output: true
}

// Redis is gone while a job runs, and when another wants to begin.
func ExampleServer_Down() {
	t := &example{} // your *testing.T
	defer t.end()

	s := locktest.Start(t)
	c := s.Client(t, &lock.Options{TTL: 300 * time.Millisecond})
	err := c.Do(context.Background(), "import", func(ctx context.Context) error {
		s.Down()
		<-ctx.Done() // before the key expires
		return nil
	})
	fmt.Println("lost:", errors.Is(err, lock.ErrLost))

	_, err = c.Mutex("export").TryLock(context.Background())
	fmt.Println("held:", errors.Is(err, lock.ErrHeld))

	time.AfterFunc(100*time.Millisecond, s.Up)
	lease, err := c.Mutex("export").Lock(context.Background()) // waits for Redis
	fmt.Println("then:", err, lease.Unlock(context.Background()))
	// Output:
	// lost: true
	// held: false
	// then: <nil> <nil>
}
