package redisconn

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// onSockets returns a line to a server that the test answers for.
func onSockets(t *testing.T, s *listening) *Line {
	t.Helper()
	source := NewSource(s.dialer(), "holdfast:test")
	l := NewLine(source)
	t.Cleanup(func() {
		l.Close()
		source.Close(5 * time.Second)
	})
	return l
}

// A connection that the other side closes, resets or talks on while it is idle is replaced: no call on
// it fails, and none is sent twice.
func TestIdleConnections(t *testing.T) {
	for name, end := range map[string]func(p *peer){
		"closed":   func(p *peer) { p.Close() },
		"reset":    func(p *peer) { (&tap{Conn: p.socket}).reset() },
		"talks":    func(p *peer) { p.say(":1\r\n") },
		"half one": func(p *peer) { p.say("*3\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, kind string) {
				s := listen(t, kind)
				var executed atomic.Int64
				current := make(chan *peer, 1)
				go func() { // ends with the test's connections
					for p := range s.peers {
						go p.serve(func(cmd string) string {
							executed.Add(1)
							current <- p
							return "+" + cmd + "\r\n"
						})
					}
				}()
				l := onSockets(t, s)
				for i := range 20 {
					c := echo(i, 5*time.Second)
					if err := l.Do(context.Background(), c); err != nil || c.Replies[0] != number(i) {
						t.Fatalf("call %d: %v, %v", i, c.Replies, err)
					}
					end(<-current)
					// Nobody drives, so the link is ours.
					redistest.Until(t, "the end arrives", func() bool { return l.link.stale() != nil })
				}
				if n := executed.Load(); n != 20 {
					t.Errorf("%d commands were executed, want 20", n)
				}
			})
		})
	}
}

// With a reply too many right behind the last one, that one's call does not believe its own.
func TestSurplusReply(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		s := listen(t, kind)
		s.serve(func(cmd string) string {
			if cmd == "ECHO 1" {
				return "+stray\r\n+ECHO 1\r\n"
			}
			return "+" + cmd + "\r\n"
		})
		l := onSockets(t, s)
		for _, ctx := range both(t) {
			wantErr(t, l.Do(ctx, echo(1, 5*time.Second)), ErrReply, true)
			c := echo(2, 5*time.Second)
			if err := l.Do(ctx, c); err != nil || c.Replies[0] != "ECHO 2" {
				t.Errorf("the next call: %v, %v", c.Replies, err)
			}
		}
	})
}

// Where nothing can be seen, what is sent once only follows a PING if the connection was idle.
func TestBlindLine(t *testing.T) {
	for name, test := range map[string]struct {
		idle  time.Duration
		once  bool
		pings int
		fails bool
	}{
		"idle, once":     {time.Second, true, 1, false},
		"idle, repeated": {time.Second, false, 0, true},
		"busy, once":     {time.Second - ms, true, 0, true},
	} {
		for _, broken := range []bool{false, true} {
			bubbleRun(t, name, func(t *testing.T) {
				f := newFake()
				f.setAnswer(func(cmd string) string {
					if cmd == "PING" {
						return "-NOPERM no PING for you\r\n"
					}
					return "+" + cmd + "\r\n"
				})
				l := newTestLine(t, f)
				if err := l.Do(context.Background(), echo(0, time.Second)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(test.idle)
				if broken {
					f.last.Close()
				}
				c := echo(1, time.Second)
				c.Once = test.once
				err := l.Do(context.Background(), c)
				if fails := broken && test.fails; fails != (err != nil) {
					t.Errorf("broken %v: %v", broken, err)
				}
				pings := 0
				for _, cmd := range f.commands() {
					if cmd == "PING" {
						pings++
					}
				}
				if !broken && pings != test.pings {
					t.Errorf("%d PINGs, want %d", pings, test.pings)
				}
			})
		}
	}
}

// A wire that was dialled on the way to the right server is not taken for the link's own.
func TestOtherWire(t *testing.T) {
	t.Parallel()
	sentinel, master := listen(t, "tcp"), listen(t, "tcp")
	sentinel.serve(func(cmd string) string { return "+" + cmd + "\r\n" })
	master.serve(func(cmd string) string { return "+" + cmd + "\r\n" })
	d := master.dialer()
	own := NetDial(nil)
	for name, test := range map[string]struct {
		last func(ctx context.Context) error
		own  bool
	}{
		"before": {func(context.Context) error { return nil }, true},
		"behind": {func(ctx context.Context) error {
			c, err := own(ctx, sentinel.network, sentinel.addr)
			if err == nil {
				t.Cleanup(func() { c.Close() })
			}
			return err
		}, false},
	} {
		dial := d.Dial
		dialer := Dialer{Dial: func(ctx context.Context) (conn redis.Conn, err error) {
			conn, err = dial(ctx)
			return conn, errors.Join(err, test.last(ctx))
		}}
		source := NewSource(dialer, "n")
		link, err := source.NewPort().Dial(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if own := link.wire.Load() != nil; own != test.own {
			t.Errorf("%s: the link has a wire: %v", name, own)
		}
		if own := link.where == "redis at "+master.addr; own != test.own {
			t.Errorf("%s: the link says that it is to %q", name, link.where)
		}
		link.Close()
		source.Close(time.Second)
	}
}

// What goes wrong on the way names the address, and what it may be.
func TestLocatedErrors(t *testing.T) {
	t.Parallel()
	silent := listen(t, "tcp")
	go func() { // ends with the test's connections
		for p := range silent.peers {
			p.Close()
		}
	}()
	web := listen(t, "tcp")
	web.serve(func(string) string { return "+OK\r\n" })
	for name, test := range map[string]struct {
		dialer Dialer
		want   []string
	}{
		"nobody":        {must(ParseURL("redis://127.0.0.1:1")), []string{"redis at 127.0.0.1:1: connect"}},
		"closes":        {must(ParseURL("redis://" + silent.addr)), []string{silent.addr, "expect TLS?"}},
		"TLS, closes":   {must(ParseURL("rediss://" + silent.addr)), []string{silent.addr, "speak TLS?"}},
		"TLS to no TLS": {must(ParseURL("rediss://" + redistest.StartTCP(t).Addr())), []string{"TLS"}},
		"no socket":     {must(ParseURL("unix:///nowhere/s")), []string{"redis at /nowhere/s: dial"}},
	} {
		source := NewSource(test.dialer, "n")
		_, err := source.NewPort().Dial(3 * time.Second)
		for _, want := range append(test.want, "redis at ") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: does not say %q", name, err, want)
			}
		}
		source.Close(time.Second)
	}
}

func must(d Dialer, err error) Dialer {
	if err != nil {
		panic(err)
	}
	return d
}
