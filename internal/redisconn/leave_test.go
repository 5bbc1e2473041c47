package redisconn

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

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
