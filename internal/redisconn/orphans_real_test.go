package redisconn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// proxied returns a source that dials the server through the proxy.
func proxied(t *testing.T, server *redistest.Server, p *faultproxy.Proxy, options ...redis.DialOption) *Source {
	dial := func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, server.Network(), p.Addr(), options...)
	}
	s := NewSource(Dialer{Dial: dial}, "holdfast:"+t.Name())
	t.Cleanup(func() { s.Close(5 * time.Second) })
	return s
}

func dialReal(t *testing.T, s *Source) *Link {
	t.Helper()
	link, err := s.NewPort().Dial(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	return link
}

// The server goes on blocking for a client whose end is gone, and gives it the next signal. The
// connection that replaces that one ends it.
func TestGhostInABlockingRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := faultproxy.Start(t, server.Network(), server.Addr())
	s := proxied(t, server, p)
	link := dialReal(t, s)
	done := make(chan error)
	go func() {
		_, err := link.Do(time.Second, Cmd("BLPOP", "signal", "ghost", 30))
		done <- err
	}()
	redistest.Until(t, "the blocking read", func() bool { return blocked(t, server) == "blocked_clients:1" })
	p.Partition("ghost") // the server hears nothing of its end
	if err := <-done; !errors.Is(err, ErrTimeout) {
		t.Fatalf("the blocking read: %v", err)
	}
	if n := blocked(t, server); n != "blocked_clients:1" {
		t.Errorf("%s: the ghost is not there", n)
	}
	dialReal(t, s)
	if n := blocked(t, server); n != "blocked_clients:0" {
		t.Errorf("%s when the next connection is there", n)
	}
	server.Do(t, "LPUSH", "signal", 1)
	if n := server.Do(t, "LLEN", "signal"); n != int64(1) {
		t.Errorf("%v signals are left, want the one that was pushed", n)
	}
}

func blocked(t *testing.T, server *redistest.Server) string {
	info, _ := redis.String(server.Do(t, "INFO", "clients"), nil)
	for line := range strings.Lines(info) {
		if strings.HasPrefix(line, "blocked_clients:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// A command that the network still has when its connection is given up is not executed any more when
// the next connection is there. Where the server does not let us, it is; the connection works all the
// same.
func TestCommandOfAGhost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rules []any // of the user
		late  int64
	}{
		"allowed":        {[]any{"+client|id", "+client|kill", "+info"}, 0},
		"without kill":   {[]any{"+client|id", "+info"}, 1},
		"without id":     {[]any{"+client|kill", "+info"}, 1},
		"without info":   {[]any{"+client|id", "+client|kill"}, 1},
		"without client": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			rules := append([]any{"SETUSER", "u", "on", ">p", "~*", "+set", "+echo"}, test.rules...)
			server.Do(t, "ACL", rules...)
			p := faultproxy.Start(t, server.Network(), server.Addr())
			s := proxied(t, server, p, redis.DialUsername("u"), redis.DialPassword("p"))
			l := line(t, s)
			held := p.Catch(faultproxy.HoldRequest, "SET", "late")
			c := NewCall(in(200*ms), Cmd("SET", "late", "v"))
			wantErr(t, l.Do(t.Context(), c), ErrTimeout, true)
			if err := l.Do(t.Context(), NewCall(in(5*time.Second), Cmd("ECHO", "hello"))); err != nil {
				t.Fatalf("the next call: %v", err)
			}
			held.Release()
			if test.late == 1 {
				redistest.Until(t, "the late command", func() bool { return server.Do(t, "EXISTS", "late") == int64(1) })
				return
			}
			redistest.Until(t, "the ghost's end", func() bool {
				list, _ := redis.String(server.Do(t, "CLIENT", "LIST"), nil)
				return strings.Count(list, " user=u ") == 1
			})
			if n := server.Do(t, "EXISTS", "late"); n != test.late {
				t.Errorf("the late command was executed: %v", n)
			}
		})
	}
}

// After a restart ids begin anew: the connections that have them then are others'.
func TestNobodyIsKilledAfterARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := source(t, server)
	link := dialReal(t, s)
	link.inFlight.Store(true)
	before := link.session
	server.Kill(t)
	link.Close()
	server.Restart(t)
	other := server.Dial(t)
	for {
		id, err := redis.Int64(other.Do("CLIENT", "ID"))
		if err != nil {
			t.Fatal(err)
		}
		if id >= before.id {
			break
		}
		other = server.Dial(t)
	}
	next := dialReal(t, s)
	if next.session.run == before.run || !next.session.known() {
		t.Errorf("sessions %v and %v, want two runs", before, next.session)
	}
	if _, err := other.Do("PING"); err != nil {
		t.Errorf("somebody else's connection: %v", err)
	}
	if s.orphans.matter() {
		t.Error("connections are made for an orphan of a run that is over")
	}
}
