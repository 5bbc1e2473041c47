package redisconn

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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

// A batch whose first call has no answer in time fails, and what came later goes out on a new connection.
func TestFirstDeadline(t *testing.T) {
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
		a := do(t.Context(), l, fast)
		synctest.Wait()
		b := do(t.Context(), l, slow)
		time.Sleep(20 * ms)
		later := do(t.Context(), l, echo(2, 2*time.Second))
		for _, r := range []outcome{<-a, <-b} {
			if r.took > 500*ms {
				t.Errorf("failed after %v", r.took)
			}
		}
		time.Sleep(60 * ms) // a pause of 20 ms, and the dial
		if got := f.commands(); !slices.Contains(got, number(2)) {
			t.Errorf("sent %q, want the later call on a new connection", got)
		}
		<-later
	})
}

// A call that is answered costs those behind it nothing: each has its own time.
func TestDeadlineOfAnAnsweredNeighbour(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		f.setDialer(func(context.Context) error { time.Sleep(10 * ms); return nil })
		f.setAnswer(func(cmd string) string {
			switch cmd {
			case number(0):
				time.Sleep(300 * ms)
			case number(1):
				time.Sleep(600 * ms)
			}
			return "+" + cmd + "\r\n"
		})
		first := do(ctx, l, echo(0, 500*ms)) // the dial lets the second go out with it
		synctest.Wait()
		second := do(t.Context(), l, echo(1, time.Second))
		for i, result := range []<-chan outcome{first, second} {
			if r := <-result; r.err != nil {
				t.Errorf("call %d after %v: %v", i, r.took, r.err)
			}
		}
		if dials, _, _ := f.counts(); dials != 1 {
			t.Errorf("%d dials, want 1", dials)
		}
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
			if cmd == "CLIENT ID" || strings.HasPrefix(cmd, "ECHO") {
				time.Sleep(50 * ms)
			}
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

// A connection failed, and the one call behind has less time left than a dial takes. It fails when its
// time is up; those with more time get the connection that is dialled meanwhile.
func TestDialOutlastsTheFirstDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		l := newTestLine(t, f)
		hasty, patient := behindAFailure(t, f, l, 200*ms)
		f.setDialer(func(context.Context) error { time.Sleep(400 * ms); return nil })
		r := <-hasty
		wantErr(t, r.err, ErrTimeout, false)
		if r.took != time.Second {
			t.Errorf("the call with little time failed after %v, want its limit of 1 s", r.took)
		}
		if r := <-patient; r.err != nil || r.took < 900*ms || r.took > 930*ms {
			t.Errorf("the call with more time: %v after %v, want a reply at the end of the dial", r.err, r.took)
		}
		if dials, _, _ := f.counts(); dials != 2 {
			t.Errorf("%d dials, want 2: the dial goes on for those who can wait", dials)
		}
	})
}

// A call that has too little time left to be sent when a connection failed does not wait for the dial
// that is made for others: it fails before that, within its limit.
func TestLateCallDoesNotWaitForTheDial(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		l := newTestLine(t, f)
		late, patient := behindAFailure(t, f, l, 50*ms)
		f.setDialer(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		r := <-late
		wantErr(t, r.err, ErrTimeout, false)
		if r.took > time.Second {
			t.Errorf("the late call took %v, longer than its limit of 1 s", r.took)
		}
		wantErr(t, (<-patient).err, ErrTimeout, false)
	})
}

// behindAFailure returns two calls with limits of 1 and 2 s, behind one that gets no reply and so costs the
// connection: the first has so much time left then, the second 1.5 s.
func behindAFailure(t *testing.T, f *fake, l *Line, left time.Duration) (first, second <-chan outcome) {
	t.Helper()
	if err := l.Do(t.Context(), echo(0, time.Second)); err != nil { // now it is connected
		t.Fatal(err)
	}
	f.setAnswer(func(cmd string) string {
		if cmd == number(0) {
			return ""
		}
		return "+" + cmd + "\r\n"
	})
	do(t.Context(), l, echo(0, time.Second))
	synctest.Wait()
	time.Sleep(left)
	first = do(t.Context(), l, echo(1, time.Second))
	time.Sleep(500*ms - left)
	return first, do(t.Context(), l, echo(2, 2*time.Second))
}
