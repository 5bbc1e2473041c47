package redisconn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// source returns one that dials a real server.
func source(t *testing.T, server *redistest.Server, options ...redis.DialOption) *Source {
	t.Helper()
	dial := func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, server.Network(), server.Addr(), options...)
	}
	s := NewSource(Dialer{Dial: dial}, "holdfast:"+t.Name())
	t.Cleanup(func() { s.Close(5 * time.Second) })
	return s
}

func line(t *testing.T, s *Source) *Line {
	l := NewLine(s)
	t.Cleanup(l.Close)
	return l
}

// both are a context that cannot end and one that can.
func both(t *testing.T) []context.Context {
	return []context.Context{context.Background(), t.Context()}
}

func TestRealServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := line(t, source(t, server))
	for _, ctx := range both(t) {
		c := NewBatch(in(2*time.Second), []Command{
			Cmd("SET", "k", "v"), Cmd("LPUSH", "k", 1), Cmd("GET", "k"),
			Cmd("EVALSHA", strings.Repeat("0", 40), 0),
		})
		if err := l.Do(ctx, c); err != nil {
			t.Fatal(err)
		}
		wrong, _ := c.Replies[1].(redis.Error)
		unknown, _ := c.Replies[3].(redis.Error)
		if c.Replies[0] != "OK" || string(c.Replies[2].([]byte)) != "v" || !HasCode(wrong, "WRONGTYPE") ||
			Classify(unknown) != NoScript {
			t.Errorf("replies %v", c.Replies)
		}
	}
	if n := server.Clients(t, "holdfast:"+t.Name()); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestStoppedServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := line(t, source(t, server))
	big := strings.Repeat("x", 8<<20) // more than socket buffers take
	for _, ctx := range both(t) {
		for what, cmd := range map[string]Command{"reads": Cmd("PING"), "writes": Cmd("ECHO", big)} {
			if err := l.Do(ctx, NewCall(in(5*time.Second), Cmd("PING"))); err != nil {
				t.Fatal(err)
			}
			server.Stop(t)
			begin := time.Now()
			wantErr(t, l.Do(ctx, NewCall(in(100*ms), cmd)), ErrTimeout, true)
			if took := time.Since(begin); took < 100*ms || took > time.Second {
				t.Errorf("%s: failed after %v, want 100 ms", what, took)
			}
			server.Continue(t)
		}
	}
	if err := l.Do(t.Context(), NewCall(in(5*time.Second), Cmd("PING"))); err != nil {
		t.Errorf("after all: %v", err)
	}
	redistest.Until(t, "one connection", func() bool {
		return server.Clients(t, "holdfast:"+t.Name()) == 1
	})
}

func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := line(t, source(t, server))
	ping := func() error { return l.Do(t.Context(), NewCall(in(2*time.Second), Cmd("PING"))) }
	if err := ping(); err != nil {
		t.Fatal(err)
	}
	server.Kill(t)
	var e *Error
	if err := ping(); !errors.As(err, &e) || !e.Sent || Classify(err) != Broken {
		t.Errorf("the first call: %v", err)
	}
	if err := ping(); !errors.As(err, &e) || e.Sent || Classify(err) != Broken {
		t.Errorf("the second call: %v, want one that was not sent", err)
	}
	server.Restart(t)
	if err := ping(); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

func TestMaxClients(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := source(t, server)
	server.Do(t, "CONFIG", "SET", "maxclients", 1)
	holder, err := s.NewPort().Dial(2 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	p := s.NewPort()
	// The reply says so, if it comes before our greeting finds the connection closed.
	_, err = p.Dial(2 * time.Second)
	if err == nil || Classify(err) != Moved && Classify(err) != Broken {
		t.Errorf("one too many: %v", err)
	}
	holder.Close()
	redistest.Until(t, "a connection", func() bool {
		link, err := p.Dial(2 * time.Second)
		if err == nil {
			link.Close()
		}
		return err == nil
	})
}

func TestLinkBlocks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, options := range map[string][]redis.DialOption{
		"no read timeout":      nil,
		"a short read timeout": {redis.DialReadTimeout(100 * ms)}, // it knows nothing of blocking reads
	} {
		link, err := source(t, server, options...).NewPort().Dial(2 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		reply, err := link.Do(3*time.Second, Cmd("BLPOP", "nothing", "1.0"))
		if reply != nil || err != nil || time.Since(begin) < 900*ms {
			t.Errorf("%s: BLPOP: %v, %v after %v", name, reply, err, time.Since(begin))
		}
		if _, err := link.Do(time.Second, Cmd("INCR", name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var refused redis.Error
		if _, err := link.Do(time.Second, Cmd("LPUSH", name, 1)); !errors.As(err, &refused) {
			t.Errorf("%s: LPUSH: %v, want a reply", name, err)
		}
		reply, err = link.Do(time.Second, Cmd("GET", name))
		if err != nil || string(reply.([]byte)) != "1" {
			t.Errorf("%s: after an error reply: %v, %v", name, reply, err)
		}
		if _, err := link.Do(0, Cmd("INCR", name)); !errors.Is(err, ErrTimeout) {
			t.Errorf("%s: no time: %v", name, err)
		}
		begin = time.Now()
		_, err = link.Do(100*ms, Cmd("BLPOP", "nothing", "10"))
		if !errors.Is(err, ErrTimeout) || time.Since(begin) > time.Second {
			t.Errorf("%s: a limit of 100 ms: %v after %v", name, err, time.Since(begin))
		}
		if _, err := link.Do(time.Second, Cmd("PING")); err == nil {
			t.Errorf("%s: the link lives after a timeout", name)
		}
	}
}

// oldConn is a connection without the methods that came later to redigo.
type oldConn struct{ redis.Conn }

func TestConnWithoutTimeouts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := NewSource(Dialer{Dial: func(context.Context) (redis.Conn, error) {
		c, err := redis.Dial(server.Network(), server.Addr())
		return oldConn{c}, err
	}}, "n")
	defer s.Close(time.Second)
	link, err := s.NewPort().Dial(2 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := link.Do(3*time.Second, Cmd("BLPOP", "nothing", "0.2"))
	if reply != nil || err != nil {
		t.Errorf("BLPOP: %v, %v", reply, err)
	}
	if _, err := link.Do(100*ms, Cmd("BLPOP", "nothing", "10")); !errors.Is(err, ErrTimeout) {
		t.Errorf("a limit of 100 ms: %v", err)
	}
}

// Close beside an exchange ends it.
func TestLinkClose(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	link, err := source(t, server).NewPort().Dial(2 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := link.Do(10*time.Second, Cmd("BLPOP", "nothing", "5"))
		done <- err
	}()
	redistest.Until(t, "a blocked client", func() bool {
		info, _ := redis.String(server.Do(t, "INFO", "clients"), nil)
		return strings.Contains(info, "blocked_clients:1")
	})
	begin := time.Now()
	link.Close()
	link.Close()
	if err := <-done; err == nil || time.Since(begin) > time.Second {
		t.Errorf("BLPOP after Close: %v, %v later", err, time.Since(begin))
	}
}
