package redisconn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

// errClosedByServer is what a server that accepts and closes looks like.
var errClosedByServer = errors.New("EOF")

// storm lets a line with calls and connections that wait for 1,000 names dial for 10 s.
func storm(t *testing.T, f *fake) (dials []time.Duration) {
	t.Helper()
	s := newFakeSource(f)
	l := NewLine(s)
	if err := l.Do(t.Context(), echo(0, time.Second)); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	answer := func(cmd string) string {
		switch {
		case strings.HasPrefix(cmd, "CLIENT"), cmd == "INFO server", cmd == "LOOK":
			return "+OK\r\n" // a demoted master answers reads
		}
		return "-READONLY You can't write against a read only replica.\r\n"
	}
	f.setAnswer(answer)
	var mu sync.Mutex
	dialer := f.dialer
	f.setDialer(func(ctx context.Context) error {
		mu.Lock()
		dials = append(dials, time.Since(begin))
		mu.Unlock()
		return dialer(ctx)
	})
	cut(l)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			_ = l.Do(ctx, echo(1, 2*time.Second))
			_ = pause(ctx, 20*ms, nil)
		}
	})
	for range 16 {
		wg.Go(func() {
			p := s.NewPort()
			for ctx.Err() == nil {
				if link, err := p.Dial(2 * time.Second); err == nil {
					_, _ = link.Do(time.Second, Cmd("LOOK"))
					_, _ = link.Do(time.Second, Cmd("BLPOP"))
					link.Close()
				}
				_ = pause(ctx, 20*ms, nil)
			}
			p.Hangup()
		})
	}
	wg.Wait()
	l.Close()
	s.Close(time.Second)
	return dials
}

// Row 40: a server that accepts and closes, and a demoted master, get few dials, whoever waits.
func TestStorm(t *testing.T) {
	for name, dialer := range map[string]func(context.Context) error{
		"accepts and closes": func(context.Context) error { return errClosedByServer },
		"demoted":            func(context.Context) error { return nil },
		"demoted, far away":  func(context.Context) error { time.Sleep(100 * ms); return nil },
	} {
		bubbleRun(t, name, func(t *testing.T) {
			f := newFake()
			var calls atomic.Int64
			f.setDialer(func(ctx context.Context) error {
				if calls.Add(1) == 1 {
					return nil // the first contact
				}
				return dialer(ctx)
			})
			dials := storm(t, f)
			first, late := 0, 0
			for _, at := range dials {
				switch {
				case at < time.Second:
					first++
				case at >= 5*time.Second && at < 10*time.Second:
					late++
				}
			}
			t.Logf("%d dials in the first second, %d in the last 5 s", first, late)
			if first > 20 || late > 20 || late == 0 {
				t.Errorf("%d dials in the first second, want at most 20; %d in the last 5 s, want at most 20", first, late)
			}
		})
	}
}

// The pauses end with the first call that succeeds, and whoever waits for a dial gets it then.
func TestPausesEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		s := newFakeSource(f)
		l := NewLine(s)
		if err := l.Do(t.Context(), echo(0, time.Second)); err != nil {
			t.Fatal(err)
		}
		f.setDialer(func(context.Context) error { return errDial })
		cut(l)
		for begin := time.Now(); time.Since(begin) < 5*time.Second; {
			wantErr(t, l.Do(t.Context(), echo(1, 2*time.Second)), errDial, false)
		}
		f.setDialer(func(context.Context) error { return nil })
		if r := <-do(t.Context(), l, echo(2, 2*time.Second)); r.err != nil || r.took > 1250*ms {
			t.Errorf("when the server is back: %v after %v, want at most the longest pause", r.err, r.took)
		}
		for range 3 {
			cut(l)
			if r := <-do(t.Context(), l, echo(3, 2*time.Second)); r.err != nil || r.took != 0 {
				t.Errorf("after a success: %v after %v, want no pause", r.err, r.took)
			}
		}
		l.Close()
		s.Close(time.Second)
	})
}

// Callers that leave, Hangup and Close do not wait for a pause.
func TestPauseHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		s := newFakeSource(f)
		l := NewLine(s)
		if err := l.Do(t.Context(), echo(0, time.Second)); err != nil {
			t.Fatal(err)
		}
		f.setDialer(func(context.Context) error { return errDial })
		cut(l)
		for range 7 {
			_ = l.Do(t.Context(), echo(1, 2*time.Second))
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := do(ctx, l, echo(2, 2*time.Second))
		closed := do(t.Context(), l, echo(3, 2*time.Second))
		synctest.Wait()
		begin := time.Now()
		cancel()
		wantErr(t, (<-left).err, context.Canceled, false)
		l.Close()
		wantErr(t, (<-closed).err, ErrClosed, false)
		s.Close(time.Second)
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// Until a connection was made once, whoever asks is told at once, however often that is.
func TestFirstContactHasNoPauses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		l := newTestLine(t, f)
		f.setDialer(func(context.Context) error { return errDial })
		begin := time.Now()
		for range 50 {
			wantErr(t, l.Do(t.Context(), echo(0, time.Second)), errDial, false)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// One dial for connections that wait is under way, beside one for each line, which waits for nobody.
func TestDialsAtATime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		var mu sync.Mutex
		now, most := 0, 0
		f.setDialer(func(context.Context) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(100 * ms)
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		})
		s := newFakeSource(f)
		a, b := NewLine(s), NewLine(s)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				link, err := s.NewPort().Dial(time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				link.Close()
			})
		}
		synctest.Wait()
		first := do(t.Context(), a, echo(0, time.Second))
		synctest.Wait()
		second := do(t.Context(), b, echo(1, time.Second))
		if r := <-first; r.err != nil || r.took > 100*ms {
			t.Errorf("a line beside waiting connections: %v after %v", r.err, r.took)
		}
		if r := <-second; r.err != nil || r.took > 100*ms {
			t.Errorf("another line: %v after %v", r.err, r.took)
		}
		wg.Wait()
		if most != 3 {
			t.Errorf("%d dials at a time, want 3", most)
		}
		a.Close()
		b.Close()
		s.Close(time.Second)
	})
}

// A dial failed, or took too long, when nobody waited for it. Who comes later, when all is well, hears
// nothing of that.
func TestErrorOfADialThatNobodyWaitedFor(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		f.setDialer(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		wantErr(t, l.Do(ctx, echo(0, time.Second)), ErrTimeout, false)
		time.Sleep(dialLimit)
		f.setDialer(func(context.Context) error { return nil })
		if err := l.Do(ctx, echo(1, time.Second)); err != nil {
			t.Errorf("3 s later: %v", err)
		}
	})
}

// A dial takes too long for the caller that drives, and not for those who came since.
func TestSlowDialOfAnInlineDriver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		l := newTestLine(t, f)
		f.setDialer(func(context.Context) error { time.Sleep(1200 * ms); return nil })
		first := do(context.Background(), l, echo(0, time.Second))
		time.Sleep(500 * ms)
		second := do(context.Background(), l, echo(1, 2*time.Second))
		r := <-first
		wantErr(t, r.err, ErrTimeout, false)
		if r := <-second; r.err != nil || r.took != 700*ms {
			t.Errorf("the second: %v after %v", r.err, r.took)
		}
		if r.took != time.Second {
			t.Errorf("the first failed after %v, want its limit", r.took)
		}
	})
}

// A dialer with a time limit of its own: that passes for those who wait, and not for those who came since.
// Who hears of a time limit during a pause hears why there is one.
func TestDialerWithALimit(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		if err := l.Do(ctx, echo(0, time.Second)); err != nil {
			t.Fatal(err)
		}
		f.setDialer(func(context.Context) error { time.Sleep(time.Second); return os.ErrDeadlineExceeded })
		cut(l)
		first := do(ctx, l, echo(1, time.Second))
		time.Sleep(900 * ms)
		second := do(ctx, l, echo(2, time.Second))
		wantErr(t, (<-first).err, ErrTimeout, false)
		r := <-second
		wantErr(t, r.err, ErrTimeout, false)
		if r.took != time.Second || !strings.Contains(r.err.Error(), os.ErrDeadlineExceeded.Error()) {
			t.Errorf("the second: %v after %v, want its own second, and why", r.err, r.took)
		}
	})
}

// A call with less than half of its time left when the connection is there is not sent, and the
// connection is kept for the next attempt.
func TestFreshConnectionIsKept(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		l := newTestLine(t, f)
		f.setDialer(func(context.Context) error { time.Sleep(150 * ms); return nil })
		f.setAnswer(func(cmd string) string {
			if cmd == "CLIENT ID" || strings.HasPrefix(cmd, "ECHO") {
				time.Sleep(450 * ms)
			}
			return "+OK\r\n"
		})
		wantErr(t, l.Do(ctx, echo(0, time.Second)), ErrTimeout, false)
		if err := l.Do(ctx, echo(1, time.Second)); err != nil {
			t.Errorf("the next attempt: %v", err)
		}
		if dials, _, _ := f.counts(); dials != 1 {
			t.Errorf("%d dials, want 1", dials)
		}
	})
}

// A panicConn panics where it is told to.
type panicConn struct {
	redis.Conn
	where *string
}

func (c panicConn) check(where string) {
	if *c.where == where {
		panic(fmt.Sprintf("in %s", where))
	}
}

func (c panicConn) Send(name string, args ...any) error {
	if name == "ECHO" {
		c.check("Send")
	}
	return c.Conn.Send(name, args...)
}
func (c panicConn) Flush() error          { c.check("Flush"); return c.Conn.Flush() }
func (c panicConn) Receive() (any, error) { c.check("Receive"); return c.Conn.Receive() }
func (c panicConn) Close() error          { defer c.Conn.Close(); c.check("Close"); return nil }

// A panic in a user's connection fails the calls in flight, whoever drives, and the next ones work.
func TestPanicInAConnection(t *testing.T) {
	for _, place := range []string{"Send", "Flush", "Receive", "Close", "Dial"} {
		t.Run(place, func(t *testing.T) {
			contexts(t, func(t *testing.T, ctx context.Context) {
				f, where := newFake(), ""
				s := NewSource(Dialer{Dial: func(ctx context.Context) (redis.Conn, error) {
					panicConn{where: &where}.check("Dial")
					conn, err := f.dial(ctx)
					return panicConn{conn, &where}, err
				}}, "n")
				l := NewLine(s)
				if err := l.Do(ctx, echo(0, time.Second)); err != nil {
					t.Fatal(err)
				}
				where = place
				if place == "Close" || place == "Dial" {
					cut(l)
				}
				err := l.Do(ctx, echo(1, time.Second))
				if place != "Close" && (err == nil || !strings.Contains(err.Error(), "panicked: in "+place) ||
					!strings.Contains(err.Error(), "pace_test.go")) {
					t.Errorf("the call: %v, want one that names the panic", err)
				}
				where = ""
				if err := l.Do(ctx, echo(2, time.Second)); err != nil {
					t.Errorf("the next call: %v", err)
				}
				l.Close()
				s.Close(time.Second)
			})
		})
	}
}
