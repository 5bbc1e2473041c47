package faults_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/wire"
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
	"extend": "*3\r\n$4\r\nours\r\n$0\r\n\r\n:60000\r\n", "BLPOP": "*-1\r\n", "INFO": "$0\r\n\r\n",
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
	if len(words) > 1 {
		if name := wire.Name(words[1]); name != "" {
			return name
		}
	}
	return words[0]
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
