package faultproxy_test

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// start returns a server, a proxy before it and a connection through the proxy.
func start(t *testing.T) (*redistest.Server, *faultproxy.Proxy, redis.Conn) {
	t.Parallel()
	s := redistest.StartTCP(t)
	p := faultproxy.Start(t, s.Network(), s.Addr())
	return s, p, dial(t, p)
}

func dial(t *testing.T, p *faultproxy.Proxy) redis.Conn {
	t.Helper()
	return redistest.At(t, p.URL()).Dial(t)
}

// send sends a command and returns where its error will be.
func send(c redis.Conn, command string, args ...any) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.Do(command, args...)
		done <- err
	}()
	return done
}

func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: nothing came", what)
		panic("not reached")
	}
}

func get(t *testing.T, s *redistest.Server, key string) string {
	t.Helper()
	value, err := redis.String(s.Do(t, "GET", key), nil)
	if err != nil && err != redis.ErrNil {
		t.Fatal(err)
	}
	return value
}

func TestPass(t *testing.T) {
	s, p, c := start(t)
	if err := await(t, "SET", send(c, "SET", "a", "1\r\n*1\r\n$4\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, s, "a"); got != "1\r\n*1\r\n$4\r\nPING\r\n" {
		t.Errorf("stored %q", got)
	}
	if p.Bytes(faultproxy.ToClient) != int64(len("+OK\r\n")) || p.Bytes(faultproxy.ToServer) == 0 {
		t.Errorf("%d bytes to the client", p.Bytes(faultproxy.ToClient))
	}
	if p.Open("") != 1 || p.Open("PING") != 1 || p.Open("GET") != 0 {
		t.Errorf("open: %d", p.Open(""))
	}
	c.Close()
	redistest.Until(t, "the proxy sees the end", func() bool { return p.Open("") == 0 })
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := faultproxy.Start(t, s.Network(), s.Addr())
	if err := await(t, "PING", send(dial(t, p), "PING")); err != nil {
		t.Fatal(err)
	}
}

func TestHold(t *testing.T) {
	s, p, c := start(t)
	p.Set(faultproxy.ToClient, faultproxy.Hold, "SET")
	done := send(c, "SET", "a", "1")
	redistest.Until(t, "it is executed", func() bool { return get(t, s, "a") == "1" })
	if err := await(t, "PING", send(dial(t, p), "PING")); err != nil {
		t.Errorf("a connection that sent no SET: %v", err)
	}
	select {
	case <-done:
		t.Error("the reply was not held")
	default:
	}
	p.Heal()
	if err := await(t, "SET", done); err != nil {
		t.Errorf("after Heal: %v", err)
	}
}

func TestPartition(t *testing.T) {
	s, p, c := start(t)
	blocked := send(c, "BLPOP", "list", "5")
	redistest.Until(t, "it blocks", func() bool { return p.Open("BLPOP") == 1 })
	p.Partition("BLPOP")
	s.Do(t, "RPUSH", "list", "lost")
	redistest.Until(t, "the reply is on its way", func() bool {
		return s.Do(t, "LLEN", "list") == int64(0)
	})
	c.Close()
	await(t, "the end for the client", blocked)
	redistest.Until(t, "the proxy sees the end", func() bool { return p.Open("") == 0 })
	if n := s.Clients(t, ""); n != 2 {
		t.Errorf("the server knows %d clients, want the one that is gone, too", n)
	}
	p.Heal()
	redistest.Until(t, "the server sees the end", func() bool { return s.Clients(t, "") == 1 })
}

func TestDelay(t *testing.T) {
	_, p, c := start(t)
	p.Delay(faultproxy.ToServer, 30*time.Millisecond, "")
	p.Delay(faultproxy.ToClient, 20*time.Millisecond, "")
	began := time.Now()
	if err := await(t, "PING", send(c, "PING")); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("took %v", took)
	}
}

func TestCut(t *testing.T) {
	_, p, c := start(t)
	p.Cut(faultproxy.ToClient, int64(len("$5\r\nhello\r\n$5\r\nhe")), "")
	if err := await(t, "ECHO", send(c, "ECHO", "hello")); err != nil {
		t.Fatal(err)
	}
	if err := await(t, "ECHO", send(c, "ECHO", "hello")); err == nil {
		t.Error("no error after a cut")
	}
	if n := p.Bytes(faultproxy.ToClient); n < 11 {
		t.Errorf("%d bytes came", n)
	}
}

func TestResetAndRefuse(t *testing.T) {
	_, p, conn := start(t)
	blocked := send(conn, "BLPOP", "list", "5")
	redistest.Until(t, "it blocks", func() bool { return p.Open("BLPOP") == 1 })
	if n := p.Reset("BLPOP"); n != 1 {
		t.Errorf("reset %d", n)
	}
	if await(t, "the reset", blocked) == nil {
		t.Error("no error after a reset")
	}
	p.Refuse(true)
	if c, err := redis.Dial("tcp", p.Addr()); err == nil { // the kernel may have accepted it
		if await(t, "PING", send(c, "PING")) == nil {
			t.Error("a connection was not refused")
		}
		c.Close()
	}
	p.Heal()
	if err := await(t, "PING", send(dial(t, p), "PING")); err != nil {
		t.Errorf("after Heal: %v", err)
	}
}

func TestCatch(t *testing.T) {
	for _, c := range []struct {
		name               string
		fate               faultproxy.Fate
		before, after      string // what the key holds when it is caught, and in the end
		release, wantError bool
	}{
		{"tell", faultproxy.Tell, "", "1", false, false},
		{"hold the request", faultproxy.HoldRequest, "", "1", true, false},
		{"hold the reply", faultproxy.HoldReply, "1", "1", true, false},
		{"cut the request", faultproxy.CutRequest, "", "", false, true},
		{"cut the reply", faultproxy.CutReply, "1", "1", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p, conn := start(t)
			other := p.Catch(c.fate, "SET", "nothing like it")
			caught, second := p.Catch(c.fate, "SET", "key"), p.Catch(faultproxy.Tell, "SET", "key")
			done := send(conn, "SET", "key", "1")
			await(t, "the catch", caught.Done())
			if got := get(t, s, "key"); c.fate != faultproxy.Tell && got != c.before {
				t.Errorf("when caught: %q, want %q", got, c.before)
			}
			if c.release {
				caught.Release()
			}
			if err := await(t, "SET", done); (err != nil) != c.wantError {
				t.Errorf("SET: %v", err)
			}
			if got := get(t, s, "key"); got != c.after {
				t.Errorf("in the end: %q, want %q", got, c.after)
			}
			if time.Since(caught.At()) > 10*time.Second || !other.At().IsZero() || !second.At().IsZero() {
				t.Error("At is wrong")
			}
		})
	}
}

// A command that is held arrives even though its client is gone: what a network does with what is
// late.
func TestHeldRequestOutlivesItsClient(t *testing.T) {
	s, p, c := start(t)
	caught := p.Catch(faultproxy.HoldRequest, "SET")
	done := send(c, "SET", "a", "1")
	await(t, "the catch", caught.Done())
	c.Close()
	await(t, "the client's end", done)
	caught.Release()
	redistest.Until(t, "it is executed", func() bool { return get(t, s, "a") == "1" })
}

// Heal lets go on whatever was caught, and forgets what was not.
func TestHealReleasesCatches(t *testing.T) {
	for _, c := range []struct {
		name string
		fate faultproxy.Fate
	}{
		{"a held request", faultproxy.HoldRequest},
		{"a held reply", faultproxy.HoldReply},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p, conn := start(t)
			caught, never := p.Catch(c.fate, "SET"), p.Catch(c.fate, "GET")
			done := send(conn, "SET", "key", "1")
			await(t, "the catch", caught.Done())
			p.Heal()
			if err := await(t, "SET", done); err != nil {
				t.Fatalf("after Heal: %v", err)
			}
			if err := await(t, "GET", send(conn, "GET", "key")); err != nil || get(t, s, "key") != "1" {
				t.Errorf("after that: %v", err)
			}
			if !never.At().IsZero() {
				t.Error("a catch outlived Heal")
			}
		})
	}
}
