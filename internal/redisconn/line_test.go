package redisconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

var errDial = errors.New("nobody there")

// contexts are one that cannot end, whose callers drive themselves, and one that can.
func contexts(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	bubbleRun(t, "inline", func(t *testing.T) { test(t, context.Background()) })
	bubbleRun(t, "by the goroutine", func(t *testing.T) { test(t, t.Context()) })
}

func TestDo(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		for i := range 10 {
			c := echo(i, time.Second)
			if err := l.Do(ctx, c); err != nil {
				t.Fatal(err)
			}
			if got := c.Replies[0]; got != number(i) {
				t.Errorf("reply %v, want %s", got, number(i))
			}
			if c.Sent.IsZero() || c.Sent.After(time.Now()) {
				t.Errorf("sent at %v", c.Sent)
			}
		}
		if dials, open, _ := f.counts(); dials != 1 || open != 1 {
			t.Errorf("%d dials, %d open, want 1 connection", dials, open)
		}
	})
}

// What queues up during an exchange goes out in one write, in order, and each gets its own reply.
func TestCombining(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		gate := make(chan struct{})
		f.setAnswer(func(cmd string) string {
			if cmd == number(0) {
				<-gate
			}
			return "+" + cmd + "\r\n"
		})
		results := []<-chan outcome{do(ctx, l, echo(0, time.Second))}
		synctest.Wait()
		_, _, before := f.counts()
		var want []string
		for i := range 51 {
			if i > 0 {
				results = append(results, do(ctx, l, echo(i, time.Second)))
				synctest.Wait() // they queue up in order
			}
			want = append(want, number(i))
		}
		close(gate)
		for i, result := range results {
			if r := <-result; r.err != nil || r.call.Replies[0] != number(i) {
				t.Errorf("call %d: %v, %v", i, r.call.Replies[0], r.err)
			}
		}
		if _, _, writes := f.counts(); writes != before+1 {
			t.Errorf("%d writes for 50 calls that queued up, want 1", writes-before)
		}
		if got := f.commands(); !slices.Equal(got, want) {
			t.Errorf("sent %q", got)
		}
	})
}

// What comes while a long exchange is under way goes out before its last reply is there. A caller
// that drives does not do that for others: it must come back.
func TestFeeding(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := newFake()
		l := newTestLine(t, f)
		gates := map[string]chan struct{}{
			number(0): make(chan struct{}), number(1): make(chan struct{}),
			number(feedEvery + 1): make(chan struct{}),
		}
		f.setAnswer(func(cmd string) string {
			if gate := gates[cmd]; gate != nil {
				<-gate
			}
			return "+" + cmd + "\r\n"
		})
		var results []<-chan outcome
		for i := range 2 * feedEvery {
			results = append(results, do(ctx, l, echo(i, time.Second)))
			synctest.Wait()
		}
		close(gates[number(0)])
		synctest.Wait() // the others have been written, and the first of them is not answered
		late := do(ctx, l, echo(100, time.Second))
		synctest.Wait()
		_, _, before := f.counts()
		close(gates[number(1)])
		synctest.Wait()
		if _, _, writes := f.counts(); writes != before+1 {
			t.Errorf("%d writes before the last reply, want 1", writes-before)
		}
		close(gates[number(feedEvery+1)])
		for i, result := range append(results, late) {
			if r := <-result; r.err != nil {
				t.Errorf("call %d: %v", i, r.err)
			}
		}
	})
}

func TestBigQueueIsSplit(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		gate := make(chan struct{})
		var held, most atomic.Int64 // commands without a reply
		f.setAnswer(func(cmd string) string {
			<-gate
			return "+" + cmd + "\r\n"
		})
		first := do(ctx, l, echo(0, time.Second))
		synctest.Wait()
		var results []<-chan outcome
		for i := range 7 {
			cmds := make([]Command, 400)
			for j := range cmds {
				cmds[j] = Cmd("ECHO", i, j)
			}
			c := NewBatch(in(time.Second), cmds)
			c.Written = func() { most.Store(max(most.Load(), held.Add(400))) }
			results = append(results, do(ctx, l, c))
			synctest.Wait()
		}
		close(gate)
		<-first
		for i, result := range results {
			r := <-result
			if want := fmt.Sprintf("ECHO %d 399", i); r.err != nil || r.call.Replies[399] != want {
				t.Errorf("call %d: %v, %v", i, r.call.Replies[399], r.err)
			}
		}
		if n := len(f.commands()); n != 2801 {
			t.Errorf("%d commands, want 2801", n)
		}
	})
}

func TestErrorRepliesInABatch(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		f.setAnswer(func(cmd string) string {
			if cmd == "BAD" {
				return "-ERR not that\r\n"
			}
			return "+" + cmd + "\r\n"
		})
		c := NewBatch(in(time.Second), []Command{Cmd("A"), Cmd("BAD"), Cmd("B"), Cmd("BAD")})
		if err := l.Do(ctx, c); err != nil {
			t.Fatal(err)
		}
		bad := redis.Error("ERR not that")
		if want := []any{"A", bad, "B", bad}; !slices.Equal(c.Replies, want) {
			t.Errorf("replies %v", c.Replies)
		}
		if err := l.Do(ctx, NewBatch(in(time.Second), nil)); err != nil {
			t.Errorf("an empty batch: %v", err)
		}
		if dials, _, _ := f.counts(); dials != 1 {
			t.Errorf("%d dials, want 1: error replies leave the connection usable", dials)
		}
	})
}

// Redis says that this server is of no use: what is sent next goes to a new connection.
func TestMovedGivesTheConnectionUp(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		f.setAnswer(func(cmd string) string {
			if cmd == "WRITE" {
				return "-READONLY You can't write against a read only replica.\r\n"
			}
			return "+" + cmd + "\r\n"
		})
		c := NewBatch(in(time.Second), []Command{Cmd("WRITE"), Cmd("READ")})
		if err := l.Do(ctx, c); err != nil {
			t.Fatal(err)
		}
		if !HasCode(c.Replies[0].(redis.Error), "READONLY") || c.Replies[1] != "READ" {
			t.Errorf("replies %v", c.Replies)
		}
		if err := l.Do(ctx, echo(1, time.Second)); err != nil {
			t.Fatal(err)
		}
		if dials, open, _ := f.counts(); dials != 2 || open != 1 {
			t.Errorf("%d dials, %d open, want a second connection alone", dials, open)
		}
	})
}
