package redisconn

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Close comes at any time and ends everything at once.
func TestLineClose(t *testing.T) {
	slow := func(f *fake) {
		f.setAnswer(func(cmd string) string {
			if strings.HasPrefix(cmd, "ECHO") {
				return ""
			}
			return "+OK\r\n"
		})
	}
	deafDialer := func(f *fake) {
		f.setDialer(func(context.Context) error { time.Sleep(3 * time.Second); return nil })
	}
	politeDialer := func(f *fake) {
		f.setDialer(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	}
	silentGreeting := func(f *fake) { f.setAnswer(func(string) string { return "" }) }
	clear := func(*fake) {}
	for name, test := range map[string]struct {
		prepare func(f *fake)
		sent    bool
	}{
		"idle":                    {clear, false},
		"waiting for replies":     {slow, true},
		"dialling, no context":    {deafDialer, false},
		"dialling with a context": {politeDialer, false},
		"greeting":                {silentGreeting, false},
	} {
		t.Run(name, func(t *testing.T) {
			contexts(t, func(t *testing.T, ctx context.Context) {
				f := newFake()
				l := newTestLine(t, f)
				if name == "idle" {
					if err := l.Do(ctx, echo(0, time.Second)); err != nil {
						t.Fatal(err)
					}
				} else {
					test.prepare(f)
					underWay := do(ctx, l, echo(1, time.Minute))
					synctest.Wait()
					queued := do(ctx, l, echo(2, time.Minute))
					synctest.Wait()
					defer func() {
						wantErr(t, (<-underWay).err, ErrClosed, test.sent)
						wantErr(t, (<-queued).err, ErrClosed, false)
					}()
				}
				begin := time.Now()
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(l.Close)
				}
				wg.Wait()
				if took := time.Since(begin); took != 0 {
					t.Errorf("Close took %v", took)
				}
				wantErr(t, l.Do(ctx, echo(3, time.Second)), ErrClosed, false)
			})
		})
	}
	bubbleRun(t, "unused", func(t *testing.T) { newTestLine(t, newFake()) })
}

// Close came after the dial, and before the line had the connection.
func TestCloseBetweenDialAndLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		s := NewSource(Dialer{Dial: f.dial}, "n")
		l := NewLine(s)
		c := echo(0, time.Second)
		c.by = c.Deadline
		l.closed, l.calls = true, []*Call{c}
		if l.connect() || !errors.Is(c.err, ErrClosed) {
			t.Errorf("connected: %v; the call: %v, want ErrClosed", l.link, c.err)
		}
		if _, open, _ := f.counts(); open != 0 {
			t.Errorf("%d connections are open", open)
		}
		s.Close(time.Second)
		f.serving.Wait()
	})
}

// All callers left before the dial, and one came just after: it is neither lost nor failed.
func TestCallerComesWhenAllHaveLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := NewLine(NewSource(Dialer{Dial: newFake().dial}, "n"))
		gone, fresh := echo(0, time.Second), echo(1, time.Second)
		gone.state = abandoned
		l.calls = []*Call{gone}
		if l.connect() || l.link != nil {
			t.Errorf("connected: %v, want no dial", l.link)
		}
		l.calls = append(l.calls, fresh)
		l.notConnected(ErrTimeout)
		if len(l.calls) != 0 || !errors.Is(fresh.err, ErrTimeout) { // it has no time at all
			t.Errorf("left %v, %v", l.calls, fresh.err)
		}
	})
}
