package redisconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

func TestCallerLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		l := newTestLine(t, f)
		gate := make(chan struct{})
		f.setAnswer(func(cmd string) string {
			if cmd == number(0) {
				<-gate
			}
			return "+" + cmd + "\r\n"
		})
		ctx, cancel := context.WithCancel(t.Context())
		underWay := do(ctx, l, echo(0, time.Minute))
		synctest.Wait()
		notTaken := do(ctx, l, echo(1, time.Minute))
		synctest.Wait()
		other := do(t.Context(), l, echo(2, time.Minute))
		synctest.Wait()
		cancel()
		synctest.Wait() // they return at once: no time passes
		wantErr(t, (<-underWay).err, context.Canceled, true)
		wantErr(t, (<-notTaken).err, context.Canceled, false)
		wantErr(t, l.Do(ctx, echo(3, time.Minute)), context.Canceled, false)
		close(gate)
		if r := <-other; r.err != nil || r.call.Replies[0] != number(2) {
			t.Errorf("another call: %v, %v", r.call.Replies[0], r.err)
		}
		if got := f.commands(); !slices.Equal(got, []string{number(0), number(2)}) {
			t.Errorf("sent %q", got)
		}
		if dials, _, _ := f.counts(); dials != 1 {
			t.Errorf("%d dials, want 1", dials)
		}
	})
}

// A caller may leave while the connection is made: its call was not sent, and that is known.
func TestCallerLeavesDuringTheDial(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		l := newTestLine(t, f)
		f.setDialer(func(context.Context) error { time.Sleep(time.Second); return nil })
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		left := do(ctx, l, echo(0, 2*time.Second))
		stays := do(t.Context(), l, echo(1, 2*time.Second))
		r := <-left
		wantErr(t, r.err, context.DeadlineExceeded, false)
		if r.took != 100*ms {
			t.Errorf("left after %v, want 100 ms", r.took)
		}
		if r := <-stays; r.err != nil {
			t.Errorf("another call: %v", r.err)
		}
		if got := f.commands(); !slices.Equal(got, []string{number(1)}) {
			t.Errorf("sent %q", got)
		}
	})
}

func TestServerThatDoesNotAnswer(t *testing.T) {
	for _, way := range []string{"silent", "does not read"} {
		t.Run(way, func(t *testing.T) {
			contexts(t, func(t *testing.T, ctx context.Context) {
				f := newFake()
				l := newTestLine(t, f)
				if err := l.Do(ctx, echo(0, time.Second)); err != nil {
					t.Fatal(err)
				}
				f.setAnswer(func(cmd string) string { return "" })
				c := echo(1, 300*ms)
				if way == "does not read" {
					f.clog()
				}
				r := <-do(ctx, l, c)
				wantErr(t, r.err, ErrTimeout, true)
				if r.took != 300*ms {
					t.Errorf("failed after %v, want 300 ms", r.took)
				}
				f.setAnswer(func(cmd string) string { return "+" + cmd + "\r\n" })
				if err := l.Do(ctx, echo(2, time.Second)); err != nil {
					t.Errorf("the next call: %v", err)
				}
				if dials, open, _ := f.counts(); dials != 2 || open != 1 {
					t.Errorf("%d dials, %d open, want a second connection alone", dials, open)
				}
			})
		})
	}
}

// All of a batch fail at the earliest deadline, and what came later goes out on a new connection.
func TestEarliestDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		l := newTestLine(t, f)
		f.setDialer(func(context.Context) error { time.Sleep(10 * ms); return nil })
		f.setAnswer(func(cmd string) string {
			if strings.HasPrefix(cmd, "ECHO") {
				return ""
			}
			return "+OK\r\n"
		})
		slow, fast := echo(0, time.Second), echo(1, 500*ms)
		a, b := do(t.Context(), l, fast), do(t.Context(), l, slow)
		time.Sleep(20 * ms)
		later := do(t.Context(), l, echo(2, time.Second))
		for _, r := range []outcome{<-a, <-b} {
			if r.took > 500*ms {
				t.Errorf("failed after %v", r.took)
			}
		}
		time.Sleep(20 * ms)
		if got := f.commands(); !slices.Contains(got, number(2)) {
			t.Errorf("sent %q, want the later call on a new connection", got)
		}
		<-later
	})
}

// A call with an earlier deadline than those before it does not wait for them.
func TestDeadlineBehindOthers(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		f.setAnswer(func(cmd string) string {
			if cmd == number(0) {
				time.Sleep(time.Second)
			}
			return "+" + cmd + "\r\n"
		})
		long := do(ctx, l, echo(0, 2*time.Second))
		synctest.Wait()
		r := <-do(ctx, l, echo(1, 50*ms))
		wantErr(t, r.err, ErrTimeout, false)
		if r.took != 50*ms {
			t.Errorf("failed after %v, want 50 ms", r.took)
		}
		if r := <-long; r.err != nil {
			t.Errorf("the call before it: %v", r.err)
		}
		wantErr(t, l.Do(ctx, echo(2, 0)), ErrTimeout, false)
		wantErr(t, l.Do(ctx, echo(3, -time.Hour)), ErrTimeout, false)
		if got := f.commands(); len(got) != 1 {
			t.Errorf("sent %q, want only the first one", got)
		}
	})
}

// A call that has little time left, because the connection before did not answer, is not sent: it
// would have the new connection given up that its neighbours need.
func TestLateCallsDoNotHarmTheirNeighbours(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		f.setAnswer(func(cmd string) string {
			if cmd == number(0) {
				return "" // and nothing any more on this connection
			}
			time.Sleep(50 * ms)
			return "+" + cmd + "\r\n"
		})
		first := do(ctx, l, echo(0, time.Second))
		synctest.Wait()
		time.Sleep(100 * ms)                     // dialling takes half of that
		late := do(ctx, l, echo(1, time.Second)) // 50 ms are left when there is a new connection
		time.Sleep(480 * ms)
		good := do(ctx, l, echo(2, time.Second))
		wantErr(t, (<-first).err, ErrTimeout, true)
		wantErr(t, (<-late).err, ErrTimeout, false)
		if r := <-good; r.err != nil {
			t.Errorf("the call with half of its time left: %v", r.err)
		}
	})
}

func TestDialFails(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		f.setDialer(func(context.Context) error { return errDial })
		for range 3 {
			wantErr(t, l.Do(ctx, echo(0, time.Second)), errDial, false)
		}
		f.setDialer(func(context.Context) error { return nil })
		if err := l.Do(ctx, echo(1, time.Second)); err != nil {
			t.Error(err)
		}
	})
}
