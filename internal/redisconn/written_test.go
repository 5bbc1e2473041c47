package redisconn

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Written is called exactly once on every path, and not while the call may be written.
func TestWritten(t *testing.T) {
	canceled := func(t *testing.T) context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}
	soon := func(t *testing.T) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		t.Cleanup(cancel)
		return ctx
	}
	paths := map[string]func(t *testing.T, f *fake, l *Line, c *Call){
		"replied":       func(t *testing.T, _ *fake, l *Line, c *Call) { _ = l.Do(t.Context(), c) },
		"inline":        func(_ *testing.T, _ *fake, l *Line, c *Call) { _ = l.Do(context.Background(), c) },
		"not waited":    func(_ *testing.T, _ *fake, l *Line, c *Call) { l.Go(c) },
		"context ended": func(t *testing.T, _ *fake, l *Line, c *Call) { _ = l.Do(canceled(t), c) },
		"no connection": func(t *testing.T, f *fake, l *Line, c *Call) {
			f.setDialer(func(context.Context) error { return errDial })
			_ = l.Do(t.Context(), c)
		},
		"left during the dial": func(t *testing.T, f *fake, l *Line, c *Call) {
			f.setDialer(func(context.Context) error { time.Sleep(time.Second); return nil })
			_ = l.Do(soon(t), c)
			time.Sleep(2 * time.Second)
		},
		"left in the queue": func(t *testing.T, f *fake, l *Line, c *Call) {
			f.setAnswer(func(cmd string) string { time.Sleep(time.Second); return "+OK\r\n" })
			first := do(t.Context(), l, echo(0, 5*time.Second))
			synctest.Wait()
			_ = l.Do(soon(t), c)
			<-first
		},
		"left in the queue, closed": func(t *testing.T, f *fake, l *Line, c *Call) {
			f.setAnswer(func(cmd string) string { time.Sleep(time.Second); return "+OK\r\n" })
			first := do(t.Context(), l, echo(0, 5*time.Second))
			synctest.Wait()
			_ = l.Do(soon(t), c)
			l.Close()
			<-first
		},
		"left under way": func(t *testing.T, f *fake, l *Line, c *Call) {
			f.setAnswer(func(cmd string) string { time.Sleep(time.Second); return "+OK\r\n" })
			_ = l.Do(soon(t), c)
			time.Sleep(3 * time.Second)
		},
		"no answer": func(t *testing.T, f *fake, l *Line, c *Call) {
			f.setAnswer(func(cmd string) string { return "" })
			_ = l.Do(t.Context(), c)
		},
		"write blocks": func(t *testing.T, f *fake, l *Line, c *Call) {
			_ = l.Do(t.Context(), echo(0, time.Second))
			f.clog()
			_ = l.Do(t.Context(), c)
		},
		"big write blocks": func(t *testing.T, f *fake, l *Line, c *Call) {
			_ = l.Do(t.Context(), echo(0, time.Second))
			f.clog()
			c.Commands = []Command{Cmd("ECHO", strings.Repeat("x", 1<<20))}
			_ = l.Do(t.Context(), c)
		},
		"closed": func(t *testing.T, _ *fake, l *Line, c *Call) {
			l.Close()
			_ = l.Do(t.Context(), c)
		},
		"not waited, closed": func(_ *testing.T, _ *fake, l *Line, c *Call) {
			l.Close()
			l.Go(c)
		},
		"closed in the queue": func(t *testing.T, f *fake, l *Line, c *Call) {
			f.setAnswer(func(cmd string) string { time.Sleep(time.Second); return "+OK\r\n" })
			first := do(t.Context(), l, echo(0, 5*time.Second))
			synctest.Wait()
			second := do(t.Context(), l, c)
			synctest.Wait()
			l.Close()
			<-first
			<-second
		},
		"late": func(t *testing.T, _ *fake, l *Line, c *Call) {
			c.Deadline = time.Now()
			_ = l.Do(t.Context(), c)
		},
	}
	for name, path := range paths {
		bubbleRun(t, name, func(t *testing.T) {
			f := newFake()
			l := newTestLine(t, f)
			n := 0 // -race finds a call beside another
			c := echo(1, 5*time.Second)
			c.Written = func() { n++ }
			path(t, f, l, c)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			l.Close()
			if n != 1 {
				t.Errorf("Written was called %d times, want once", n)
			}
		})
	}
}
