package lock_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// end ranges over what List returns. It returns how many locks came, each once, and the error, which
// must be the last pair. body, if any, is called after each lock with how many came.
func end(t testing.TB, locks iter.Seq2[lock.Owner, error], body func(n int)) (n int, last error) {
	t.Helper()
	seen := map[string]bool{}
	for o, err := range locks {
		switch {
		case last != nil:
			t.Errorf("after %v came %+v, %v", last, o, err)
		case err != nil && !reflect.DeepEqual(o, lock.Owner{}):
			t.Errorf("with %v came %+v", err, o)
		case err == nil && seen[o.Name]:
			t.Errorf("%q came twice", o.Name)
		}
		if last = err; err != nil {
			continue
		}
		seen[o.Name] = true
		n++
		if body != nil {
			body(n)
		}
	}
	return n, last
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c, closed := open(t, s, nil), open(t, s, nil)
	fill(t, s, 3)
	_ = closed.Close()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var nilCtx context.Context
	before := total(s.CommandCounts(t))
	for what, test := range map[string]struct {
		locks iter.Seq2[lock.Owner, error]
		want  error
	}{
		"all but":           {c.List(soon(t), lock.Filter{All: true, Label: "x"}), lock.ErrInvalid},
		"negative age":      {c.List(soon(t), lock.Filter{OlderThan: -1}), lock.ErrInvalid},
		"dead anywhere":     {c.List(soon(t), lock.Filter{DeadHere: true}), lock.ErrInvalid},
		"pattern not UTF-8": {c.List(soon(t), lock.Filter{Name: "\xff"}), lock.ErrInvalid},
		"nil ctx":           {c.List(nilCtx, lock.Filter{}), lock.ErrInvalid},
		"a bad filter of a closed client": {
			closed.List(soon(t), lock.Filter{OlderThan: -1}), lock.ErrInvalid,
		},
		"closed":    {closed.List(soon(t), lock.Filter{}), lock.ErrClosed},
		"ended ctx": {c.List(ended, lock.Filter{}), context.Canceled},
	} {
		if n, err := end(t, test.locks, nil); n != 0 || !errors.Is(err, test.want) {
			t.Errorf("%s: %d locks, %v", what, n, err)
		}
	}
	if after := total(s.CommandCounts(t)); after != before+1 { // the INFO that counts
		t.Errorf("%d commands were sent", after-before-1)
	}
}

// The loop's body may close the client, and Close does not wait for the loop, which it would do for
// an operation limit. That ends the listing, be it in the midst of a batch, between two, or at the
// last lock.
func TestListCloseInTheBody(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 700, 1500} {
		s := redistest.Start(t)
		c := open(t, s, nil)
		fill(t, s, 1500)
		type ending struct {
			n   int
			err error
		}
		done := make(chan ending, 1)
		go func() {
			n, err := end(t, c.List(soon(t), lock.Filter{}), func(n int) {
				if n != at {
					return
				}
				began := time.Now()
				_ = c.Close()
				if took := time.Since(began); took >= locks.R {
					t.Errorf("Close took %v", took)
				}
			})
			done <- ending{n, err}
		}()
		got := await(t, "the end of a List whose body closes the client", done)
		if got.n != at || !errors.Is(got.err, lock.ErrClosed) {
			t.Errorf("closed at %d: %d locks, %v", at, got.n, got.err)
		}
	}
}

func TestListEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	fill(t, s, 1500)
	for _, at := range []int{1, 700, 1500} {
		ctx, cancel := context.WithCancel(soon(t))
		n, err := end(t, c.List(ctx, lock.Filter{}), func(n int) {
			if n == at {
				cancel()
			}
		})
		cancel()
		if n != at || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %d: %d locks, %v", at, n, err)
		}
	}
}

// After break nothing is sent, and the client is as before. Whoever pulls may also stop.
func TestListBreak(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	conn := s.Dial(t)
	for i := range 5000 { // nothing else, so that a page of SCAN is more than a batch
		_ = conn.Send("SET", fmt.Sprintf("lock:%d", i), id("many", time.Now()))
	}
	if _, err := conn.Do(""); err != nil {
		t.Fatal(err)
	}
	var scans int
	for o, err := range c.List(soon(t), lock.Filter{}) {
		if err != nil || o.Label != "many" {
			t.Fatalf("%+v, %v", o, err)
		}
		scans = s.CommandCounts(t)["scan"]
		break
	}
	next, stop := iter.Pull2(c.List(soon(t), lock.Filter{}))
	if _, err, ok := next(); err != nil || !ok {
		t.Errorf("pulled %v, %v", err, ok)
	}
	stop()
	if after := s.CommandCounts(t)["scan"]; after != 2*scans {
		t.Errorf("the first lock took %d SCANs, and two first locks %d", scans, after)
	}
	if n := len(list(t, c, lock.Filter{})); n != 5000 {
		t.Errorf("later %d locks were listed", n)
	}
}

// A connection that breaks meanwhile is replaced, once for each round trip; nothing is left out and
// nothing comes twice. A Redis that is gone is an error, after what came before.
func TestListOverABrokenConnection(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	fill(t, s, 3000)
	n, err := end(t, c.List(soon(t), lock.Filter{}), func(n int) {
		if n%100 == 1 {
			s.Do(t, "CLIENT", "KILL", "TYPE", "normal")
		}
	})
	if n != 3000 || err != nil {
		t.Errorf("%d locks, %v", n, err)
	}
	n, err = end(t, c.List(soon(t), lock.Filter{}), func(n int) {
		if n == 1 {
			s.Kill(t)
		}
	})
	if n == 0 || n == 3000 || err == nil || errors.Is(err, lock.ErrClosed) {
		t.Errorf("on a Redis that is gone: %d locks, %v", n, err)
	}
}

// An error reply is an error, whatever it is that Redis refuses.
func TestListWithoutRights(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s, 10)
	c := open(t, s, nil)
	for _, right := range []string{"scan", "hgetall", "pttl"} {
		s.Do(t, "ACL", "SETUSER", "default", "-"+right)
		if n, err := end(t, c.List(soon(t), lock.Filter{}), nil); n != 0 || err == nil {
			t.Errorf("without %s: %d locks, %v", right, n, err)
		}
		s.Do(t, "ACL", "SETUSER", "default", "+"+right)
	}
	if n, err := end(t, c.List(soon(t), lock.Filter{}), nil); n != 10 || err != nil {
		t.Errorf("with all rights: %d locks, %v", n, err)
	}
}
