package redisconn

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// only fits one reply.
func only(want string) func([]any, any) bool {
	return func(_ []any, reply any) bool { return reply == want }
}

// A reply that its command does not have ends the connection. What is known of the calls whose
// answers could be mixed up is that they were sent.
func TestWrongReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		l := newTestLine(t, f)
		busy := make(chan struct{})
		f.setAnswer(func(cmd string) string {
			switch {
			case strings.HasPrefix(cmd, "CLIENT"):
				return "+OK\r\n"
			case cmd == "FIRST":
				<-busy
			case cmd == "ECHO 0":
				return "+stray\r\n+ECHO 0\r\n"
			}
			return "+" + cmd + "\r\n"
		})
		first := do(t.Context(), l, NewCall(in(time.Second), Cmd("FIRST")))
		time.Sleep(ms) // the next ones go out together
		var later []<-chan outcome
		for i := range 3 {
			cmd := Cmd("ECHO", i)
			cmd.Fits = only(number(i))
			later = append(later, do(t.Context(), l, NewCall(in(time.Second), cmd)))
			time.Sleep(ms)
		}
		close(busy)
		if o := <-first; o.err != nil {
			t.Error(o.err)
		}
		for i, done := range later {
			o := <-done
			cause := errMixedUp
			if i == 0 {
				cause = ErrReply
			}
			wantErr(t, o.err, cause, true)
		}
		again := Cmd("ECHO", 3)
		again.Fits = only(number(3))
		if o := <-do(t.Context(), l, NewCall(in(time.Second), again)); o.err != nil {
			t.Errorf("on the next connection: %v", o.err)
		}
		if dials, open, _ := f.counts(); dials != 2 || open != 1 {
			t.Errorf("%d dials, %d open, want 2 and 1", dials, open)
		}
	})
}

// The same on a link that its owner uses alone.
func TestWrongReplyOnALink(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		s := NewSource(Dialer{Dial: f.dial}, "n")
		defer s.Close(0)
		link, err := s.NewPort().Dial(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		cmd := Cmd("PING")
		cmd.Fits = only("PONG")
		if _, err := link.Do(time.Second, cmd); !errors.Is(err, ErrReply) {
			t.Errorf("error %v, want ErrReply", err)
		}
		if _, open, _ := f.counts(); open != 0 {
			t.Errorf("%d connections are open", open)
		}
	})
}

// A server that does not answer AUTH with OK is not used.
func TestWrongReplyToTheGreeting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		a := &address{password: "pw", db: 3}
		s := NewSource(Dialer{Dial: f.dial, Greeting: a.greeting()}, "n")
		defer s.Close(0)
		if _, err := s.NewPort().Dial(time.Second); !errors.Is(err, ErrReply) {
			t.Errorf("error %v, want ErrReply", err)
		}
	})
}
