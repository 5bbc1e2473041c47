package lock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/lock"
)

// A liar is a server that speaks as Redis does, but for what the test makes it say.
type liar struct {
	t    *testing.T
	addr string

	mu     sync.Mutex // guards the fields below
	say    func(what string) (reply string, odd bool)
	socket net.Conn // the last one on which a script was run
}

const takenReply = "*2\r\n$39\r\nhost:1/01ARZ3NDEKTSV4RRFFQ69G5FAV/other\r\n:60000\r\n"

// liarReplies are what a server with a lock that is held answers.
var liarReplies = map[string]string{
	"acquire": takenReply, "owner": takenReply, "release": ":1\r\n", "repair": ":0\r\n",
	"extend": "*2\r\n:1\r\n:60000\r\n", "BLPOP": "*-1\r\n", "INFO": "$0\r\n\r\n",
}

func startLiar(t *testing.T) *liar {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &liar{t: t, addr: l.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			socket, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { socket.Close() })
			serving.Go(func() { s.serve(socket) }) // ends with its client
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return s
}

func (s *liar) url() string { return "redis://" + s.addr }

// set says what the liar says to whom. what is the name of a script or command.
func (s *liar) set(say func(what string) (reply string, odd bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = say
}

// only lies to one command or script.
func (s *liar) only(to, reply string) {
	s.set(func(what string) (string, bool) { return reply, what == to })
}

func (s *liar) serve(socket net.Conn) {
	r := bufio.NewReader(socket)
	for {
		words, err := readWords(r)
		if err != nil {
			return
		}
		what := nameOf(words)
		s.mu.Lock()
		reply, odd := "", false
		if s.say != nil {
			reply, odd = s.say(what)
		}
		if what != words[0] {
			s.socket = socket
		}
		s.mu.Unlock()
		switch {
		case odd:
		case what == "CLIENT ID":
			reply = "-ERR unknown subcommand\r\n"
		case what == "look":
			n, _ := strconv.Atoi(words[2])
			reply = fmt.Sprintf("*%d\r\n", n-1) + strings.Repeat(":60000\r\n", n-1)
		default:
			reply = liarReplies[what]
		}
		if reply == "" {
			reply = "+OK\r\n"
		}
		if what == "BLPOP" && !odd {
			time.AfterFunc(50*time.Millisecond, func() { _, _ = io.WriteString(socket, reply) })
			continue
		}
		if _, err := io.WriteString(socket, reply); err != nil {
			return
		}
	}
}

// readWords reads one command.
func readWords(r *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := number()
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

func nameOf(words []string) string {
	if words[0] == "CLIENT" && words[1] != "SETNAME" {
		return "CLIENT " + words[1]
	}
	for _, script := range scripts.All() {
		if len(words) > 1 && (words[1] == script.SHA1 || words[1] == script.Source) {
			return script.Name
		}
	}
	return words[0]
}

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
				c := faultOpen(t, s.url(), nil)
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

// askLiar has something answered on the kind of connection that the command belongs to.
func askLiar(c *lock.Client, to string) error {
	if to == "acquire" || to == "CLIENT" {
		_, err := c.Mutex("job").TryLock(context.Background())
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := c.Mutex("job").Lock(ctx)
	return err
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
			c := faultOpen(t, s.url(), nil)
			for range 20 {
				stray(s, c)
				s.set(nil)
				if _, err := c.Mutex("job").TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
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
	c := faultOpen(t, s.url(), nil)
	s.only("acquire", ":7\r\n")
	_, err := c.MutexWith("job", &lock.MutexOptions{ID: "mine"}).TryLock(soon(t))
	if !errors.Is(err, lock.ErrUnknown) || !strings.Contains(err.Error(), "is a proxy in between?") {
		t.Errorf("TryLock: %v, want ErrUnknown with the reason", err)
	}
}
