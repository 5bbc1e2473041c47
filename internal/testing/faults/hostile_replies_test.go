package faults_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
)

// liarHuge are beginnings of replies that would take more than there is.
var liarHuge = map[string]string{
	"a length beyond everything":    "$9223372036854775807\r\n",
	"8 GB":                          "$8589934592\r\n",
	"elements beyond everything":    "*4611686018427387904\r\n",
	"many arrays within arrays":     strings.Repeat("*1\r\n", 100_000),
	"a line without end":            "+" + strings.Repeat("x", 1<<20),
	"in an array":                   "*2\r\n$8589934592\r\n",
	"an HTTP server":                "HTTP/1.1 400 Bad Request\r\n\r\n",
	"an error text of 60,000 bytes": "-ERR " + strings.Repeat("x", 60_000) + "\r\n",
}

// Row 41: replies that would crash a reader which believes them, in the greeting, to a call, and to those who
// wait. Each is an error that names the address, and costs no memory.
func TestFaultHostileReplies(t *testing.T) {
	for name, reply := range liarHuge {
		for _, to := range []string{"CLIENT", "acquire", "look", "BLPOP"} {
			t.Run(name+" to "+to, func(t *testing.T) {
				s := startLiar(t)
				s.only(to, reply)
				c := locks.Open(t, s.url(), nil)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := askLiar(c, to)
				runtime.ReadMemStats(&after)
				if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
					t.Errorf("%d bytes were allocated", grown)
				}
				if err == nil {
					t.Fatal("no error")
				}
				if refused := strings.HasPrefix(reply, "-"); to == "acquire" || to == "CLIENT" && !refused {
					if !strings.Contains(err.Error(), "redis at "+s.addr) {
						t.Errorf("%v: does not name the address", err)
					}
				}
				if len(err.Error()) > 2000 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			})
		}
	}
}

// A reply that nobody asked for is never the answer to a call: not one that came with another reply, nor one
// that came later, nor one behind a reply that no script returns. It would be a lease on somebody else's
// lock.
func TestFaultStrayReplies(t *testing.T) {
	t.Parallel()
	const token = "$16\r\n1700000000000000\r\n"
	for name, stray := range map[string]func(s *liar, c *lock.Client){
		"with another reply": func(s *liar, c *lock.Client) {
			s.only("owner", takenReply+token)
			_, _ = c.Owner(context.Background(), "job")
		},
		"later": func(s *liar, c *lock.Client) {
			_, _ = c.Owner(context.Background(), "job")
			s.mu.Lock()
			defer s.mu.Unlock()
			_, _ = io.WriteString(s.socket, token)
		},
		"behind what no script returns": func(s *liar, c *lock.Client) {
			s.only("owner", "+surprise\r\n"+token)
			_, _ = c.Owner(context.Background(), "job")
		},
		"behind an error": func(s *liar, c *lock.Client) {
			s.only("owner", "-ERR no\r\n"+token)
			_, _ = c.Owner(context.Background(), "job")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startLiar(t)
			c := locks.Open(t, s.url(), nil)
			for range 20 {
				stray(s, c)
				s.set(nil)
				if _, err := c.Mutex("job").TryLock(locks.Soon(t)); !errors.Is(err, lock.ErrHeld) {
					t.Errorf("TryLock: %v, want ErrHeld", err)
				}
			}
		})
	}
}

// A reply that no script returns leaves the outcome of its call open: the command may have been executed.
func TestFaultWrongReply(t *testing.T) {
	t.Parallel()
	s := startLiar(t)
	c := locks.Open(t, s.url(), nil)
	s.only("acquire", ":7\r\n")
	_, err := c.MutexWith("job", &lock.MutexOptions{ID: "mine"}).TryLock(locks.Soon(t))
	if !errors.Is(err, lock.ErrUnknown) || !strings.Contains(err.Error(), "is a proxy in between?") {
		t.Errorf("TryLock: %v, want ErrUnknown with the reason", err)
	}
}
