package redisconn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

const ms = time.Millisecond

// A fake is a Redis at the other end of pipes. It is for synctest bubbles, where a pipe that nobody
// reads from blocks at once, and a server that does not answer costs no time.
type fake struct {
	serving sync.WaitGroup // its goroutines

	mu     sync.Mutex // guards the fields below
	answer func(cmd string) string
	last   *countedConn // the newest connection
	dials  int
	open   int
	writes int      // of the clients
	got    []string // commands, without their greeting
	kills  []string // CLIENT KILL commands
	dialer func(ctx context.Context) error
	// run is the run of the server that tells connections their sessions; "": it tells none. Dial n has
	// the id n, or the one that ids has for it.
	run string
	ids map[int]int
}

func newFake() *fake {
	return &fake{
		answer: func(cmd string) string { return "+" + cmd + "\r\n" },
		dialer: func(context.Context) error { return nil },
	}
}

// setAnswer sets what is replied to a command; "" is nothing, and nothing any more on that
// connection. It may block.
func (f *fake) setAnswer(answer func(cmd string) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func (f *fake) setDialer(dialer func(ctx context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dialer = dialer
}

// clog makes the newest connection one on which nobody reads.
func (f *fake) clog() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last.clogged.Store(true)
}

func (f *fake) commands() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.got)
}

// setRun has the server run anew, under this run_id.
func (f *fake) setRun(run string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run = run
}

// killed returns the CLIENT KILL commands since the last time.
func (f *fake) killed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	kills := f.kills
	f.kills = nil
	return kills
}

func (f *fake) counts() (dials, open, writes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dials, f.open, f.writes
}

// dial is a DialFunc.
func (f *fake) dial(ctx context.Context) (redis.Conn, error) {
	f.mu.Lock()
	f.dials++
	dialer := f.dialer
	f.mu.Unlock()
	if err := dialer(ctx); err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	c := &countedConn{Conn: ours, fake: f, closed: make(chan struct{})}
	f.mu.Lock()
	f.open++
	f.last = c
	id := f.dials
	if other, ok := f.ids[id]; ok {
		id = other
	}
	f.mu.Unlock()
	f.serve(theirs, id)
	return redis.NewConn(c, 0, 0), nil
}

// serve reads commands and answers them. It ends when the pipe is closed.
func (f *fake) serve(c net.Conn, id int) {
	queue := make(chan string, 10000)
	f.serving.Go(func() {
		defer close(queue)
		r := bufio.NewReader(c)
		for {
			cmd, err := readCommand(r)
			if err != nil {
				return
			}
			queue <- cmd
		}
	})
	f.serving.Go(func() {
		silent := false
		for cmd := range queue {
			f.mu.Lock()
			answer := f.answer
			run := f.run
			switch {
			case strings.HasPrefix(cmd, "CLIENT KILL"):
				f.kills = append(f.kills, cmd)
			case !strings.HasPrefix(cmd, "CLIENT") && cmd != "INFO server":
				f.got = append(f.got, cmd)
			}
			f.mu.Unlock()
			if silent {
				continue
			}
			reply := answer(cmd)
			switch {
			case reply == "" || reply[0] != '+':
			case strings.HasPrefix(cmd, "CLIENT SETNAME"):
				reply = "+OK\r\n"
			case run == "" && (cmd == "CLIENT ID" || cmd == "INFO server"):
				reply = "-ERR unknown command\r\n"
			case cmd == "CLIENT ID":
				reply = fmt.Sprintf(":%d\r\n", id)
			case cmd == "INFO server":
				text := "# Server\r\nredis_version:7\r\nrun_id:" + run + "\r\n"
				reply = fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
			}
			silent = reply == ""
			_, _ = io.WriteString(c, reply)
		}
	})
}

// readCommand reads one command, its words joined by blanks.
func readCommand(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil {
		return "", err
	}
	words := make([]string, n)
	for i := range words {
		if line, err = r.ReadString('\n'); err != nil {
			return "", err
		}
		size, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		if err != nil {
			return "", err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return "", err
		}
		words[i] = string(word[:size])
	}
	return strings.Join(words, " "), nil
}

type countedConn struct {
	net.Conn
	fake    *fake
	clogged atomic.Bool
	once    sync.Once
	closed  chan struct{}
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.fake.mu.Lock()
	c.fake.writes++
	c.fake.mu.Unlock()
	if c.clogged.Load() {
		<-c.closed
	}
	return c.Conn.Write(p)
}

func (c *countedConn) Close() error {
	c.once.Do(func() {
		c.fake.mu.Lock()
		c.fake.open--
		c.fake.mu.Unlock()
		close(c.closed)
	})
	return c.Conn.Close()
}

// bubble runs a test on fake time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func bubbleRun(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { bubble(t, test) })
}

// newTestLine returns a line to the fake. At the end of the test it must leave nothing behind.
func newTestLine(t *testing.T, f *fake) *Line {
	s := NewSource(Dialer{Dial: f.dial}, "holdfast:test")
	l := NewLine(s)
	t.Cleanup(func() {
		l.Close()
		s.Close(time.Hour)
		if _, open, _ := f.counts(); open != 0 {
			t.Errorf("%d connections are open after Close", open)
		}
		f.serving.Wait()
	})
	return l
}

func in(d time.Duration) time.Time { return time.Now().Add(d) }

// outcome is what became of a call.
type outcome struct {
	call *Call
	err  error
	took time.Duration
}

// do does a call in the background.
func do(ctx context.Context, l *Line, c *Call) <-chan outcome {
	result := make(chan outcome, 1)
	begin := time.Now()
	go func() {
		err := l.Do(ctx, c)
		result <- outcome{c, err, time.Since(begin)}
	}()
	return result
}

// wantErr checks an error's cause and whether the call may have been executed.
func wantErr(t *testing.T, err, cause error, sent bool) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("error %v, want an *Error", err)
		return
	}
	if !errors.Is(err, cause) || e.Sent != sent {
		t.Errorf("error %v, sent %v; want %v, sent %v", err, e.Sent, cause, sent)
	}
}

func number(i int) string { return fmt.Sprintf("ECHO %d", i) }

func echo(i int, limit time.Duration) *Call { return NewCall(in(limit), Cmd("ECHO", i)) }

// cut ends the connection of a line that rests, in a bubble: the driver of its last call comes to its end
// before.
func cut(l *Line) {
	synctest.Wait()
	l.disconnect()
}
