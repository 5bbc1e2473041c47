package locktest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// A cutShy connection breaks at the first extend that may shorten a key, and keeps its arguments.
type cutShy struct {
	redis.Conn
	cut *[]any
}

func (c cutShy) Send(name string, args ...any) error {
	if isCut(args) && *c.cut == nil {
		*c.cut = slices.Clone(args)
		return c.Conn.Close()
	}
	return c.Conn.Send(name, args...)
}

// isCut reports whether these are the arguments of an extend that may shorten the key.
func isCut(args []any) bool {
	return args[0] == scripts.Extend.SHA1 && args[2+args[1].(int)+1] == "cut"
}

// A key whose TTL was raised to an hour is set right at the next renewal, with the default TTL,
// too. A cut that was lost is repeated, and it may come whenever it likes: the key outlives the
// belief.
func TestRaisedTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := locktest.Start(t)
		pool := s.Pool()
		defer pool.Close()
		conn := pool.Get()
		defer conn.Close()
		do := func(name string, args ...any) int64 {
			n, err := redis.Int64(conn.Do(name, args...))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return n
		}
		var cut []any
		dial := pool.Dial
		c, err := lock.New(&redis.Pool{Dial: func() (redis.Conn, error) {
			conn, err := dial()
			return cutShy{conn, &cut}, err
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		lease, _ := hold(t, c, "job")
		right := func(what string, most time.Duration) {
			t.Helper()
			left := time.Duration(do("PTTL", "lock:job")) * time.Millisecond
			if believes := time.Until(lease.Deadline()); believes > left || left > most {
				t.Errorf("%s: the key has %v left, the lease believes in %v", what, left, believes)
			}
		}

		for _, round := range []string{"lost", "sent"} { // the first cut
			do("PEXPIRE", "lock:job", 3_600_000)
			time.Sleep(11 * time.Second)
			synctest.Wait()
			if round == "lost" && cut == nil {
				t.Fatal("no cut")
			}
			right(round, 31*time.Second)
		}
		if err := lease.Extend(t.Context(), time.Minute); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("an Extend that the lost cut could undo: %v", err)
		}
		if err := lease.Extend(t.Context(), 20*time.Second); err != nil {
			t.Errorf("an Extend to less: %v", err)
		}
		late := func() {
			args := slices.Clone(cut)
			args[0] = scripts.Extend.Source
			if _, err := conn.Do("EVAL", args...); err != nil {
				t.Errorf("the late cut: %v", err)
			}
		}
		do("PEXPIRE", "lock:job", 3_600_000)
		late()
		right("a late cut", 31*time.Second)
		time.Sleep(2 * time.Minute)
		if err := lease.Extend(context.Background(), 30*time.Minute); err != nil {
			t.Errorf("an Extend when the lost cut is over: %v", err)
		}
		late() // later than anything can be
		right("a cut that is too late", 30*time.Minute)
	})
}
