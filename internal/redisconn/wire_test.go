package redisconn

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// A peer is the other end of one connection, in the hands of a test.
type peer struct {
	t      *testing.T
	socket net.Conn // below TLS
	net.Conn
	r *bufio.Reader
}

// A listening is a server of which each connection goes to the test.
type listening struct {
	network, addr string
	peers         chan *peer
	roots         *x509.CertPool // of its certificate; nil without TLS
}

// listen starts one; kind is tcp, unix or tls.
func listen(t *testing.T, kind string) *listening {
	t.Helper()
	s := &listening{network: "tcp", addr: "127.0.0.1:0", peers: make(chan *peer, 100)}
	if kind == "unix" {
		s.network, s.addr = "unix", filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(s.network, s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s.addr = l.Addr().String()
	var config *tls.Config
	if kind == "tls" {
		config, s.roots = certificate(t)
	}
	go func() { // ends with the listener
		defer close(s.peers)
		for {
			socket, err := l.Accept()
			if err != nil {
				return
			}
			p := &peer{t: t, socket: socket, Conn: socket}
			if config != nil {
				p.Conn = tls.Server(socket, config)
			}
			p.r = bufio.NewReader(p.Conn)
			t.Cleanup(func() { socket.Close() })
			s.peers <- p
		}
	}()
	return s
}

func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, roots
}

// config is the client's.
func (s *listening) config() *tls.Config {
	if s.roots == nil {
		return nil
	}
	return &tls.Config{RootCAs: s.roots}
}

func (s *listening) dialer() Dialer {
	return Dialer{Address: whereBefore + s.addr, Dial: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, s.network, s.addr, redis.DialContextFunc(NetDial(s.config())))
	}}
}

// serve answers each command of each connection; "" is the end of that one. The greeting is answered
// as Redis would.
func (s *listening) serve(answer func(cmd string) string) {
	go func() { // ends with the test's connections
		for p := range s.peers {
			go p.serve(answer)
		}
	}()
}

func (p *peer) serve(answer func(cmd string) string) {
	for {
		cmd, err := readCommand(p.r)
		if err != nil {
			return
		}
		var reply string
		switch cmd {
		case "CLIENT ID":
			reply = ":1\r\n"
		case "INFO server":
			reply = "$0\r\n\r\n"
		case "CLIENT SETNAME n", "CLIENT SETNAME holdfast:test":
			reply = "+OK\r\n"
		default:
			reply = answer(cmd)
		}
		if reply == "" {
			p.Close()
			return
		}
		if _, err := io.WriteString(p.Conn, reply); err != nil {
			return
		}
	}
}

// pair returns a wire and its other end, with one exchange behind them.
func pair(t *testing.T, kind string) (*Wire, redis.Conn, *peer) {
	t.Helper()
	s := listen(t, kind)
	dialled := make(chan net.Conn, 1)
	errs := make(chan error, 1)
	go func() { // ends when the dial does
		c, err := NetDial(s.config())(context.Background(), s.network, s.addr)
		dialled <- c
		errs <- err
	}()
	p := <-s.peers
	if c, ok := p.Conn.(*tls.Conn); ok {
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
	}
	wire, _ := (<-dialled).(*Wire)
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wire.Close() })
	conn := redis.NewConn(wire, 0, 0)
	ask(t, conn, p, "+PONG\r\n")
	return wire, conn, p
}

// ask has a PING answered.
func ask(t *testing.T, conn redis.Conn, p *peer, reply string) {
	t.Helper()
	if err := errors.Join(conn.Send("PING"), conn.Flush()); err != nil {
		t.Fatal(err)
	}
	if _, err := readCommand(p.r); err != nil {
		t.Fatal(err)
	}
	p.say(reply)
	if got, err := conn.Receive(); got != "PONG" || err != nil {
		t.Fatalf("PING: %v, %v", got, err)
	}
}

func (p *peer) say(text string) {
	if _, err := io.WriteString(p.Conn, text); err != nil {
		p.t.Error(err)
	}
}

var kinds = []string{"tcp", "unix", "tls"}

func eachKind(t *testing.T, test func(t *testing.T, kind string)) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// A connection that is well looks well, however often and whatever read deadline it had, and works
// afterwards.
func TestLookWell(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		wire, conn, p := pair(t, kind)
		for range 3 {
			if err := wire.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if err := wire.look(); err != nil {
					t.Fatal(err)
				}
			}
			ask(t, conn, p, "+PONG\r\n")
		}
	})
}

// What a look finds: what the other side did while nothing was under way.
func TestLookFinds(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(p *peer)
		want error
	}{
		"the end":         {func(p *peer) { p.Close() }, errGone},
		"a reset":         {func(p *peer) { (&tap{Conn: p.socket}).reset() }, errGone},
		"a stray":         {func(p *peer) { p.say("+OK\r\n") }, errStray},
		"half a reply":    {func(p *peer) { p.say("$10") }, errStray},
		"a stray, an end": {func(p *peer) { p.say("+OK\r\n"); p.Close() }, errStray},
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, kind string) {
				wire, _, p := pair(t, kind)
				test.do(p)
				redistest.Until(t, "something is found", func() bool { return wire.look() != nil })
				if err := wire.look(); !errors.Is(err, test.want) && !errors.Is(err, errGone) {
					t.Errorf("found %v, want %v", err, test.want)
				}
			})
		})
	}
}

// A reply that came with the one before it is seen without a look at the socket, and by one, too; where
// the other end is TLS it may be hidden until the look.
func TestSurplus(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		wire, conn, p := pair(t, kind)
		ask(t, conn, p, "+PONG\r\n:1\r\n")
		if !wire.surplus() {
			t.Error("one reply too many is not seen")
		}
		if err := wire.look(); !errors.Is(err, errStray) {
			t.Errorf("look: %v, want errStray", err)
		}
	})
	t.Run("in a TLS record of its own", func(t *testing.T) {
		t.Parallel()
		wire, conn, p := pair(t, "tls")
		if err := errors.Join(conn.Send("PING"), conn.Flush()); err != nil {
			t.Fatal(err)
		}
		p.say("+PONG\r\n")
		p.say(":1\r\n")
		if got, err := conn.Receive(); got != "PONG" || err != nil {
			t.Fatalf("PING: %v, %v", got, err)
		}
		redistest.Until(t, "the stray is found", func() bool { return wire.look() != nil })
	})
}

// Reset sends a reset, Close the end of the stream.
func TestReset(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"tcp", "tls"} {
		wire, _, p := pair(t, kind)
		wire.Reset()
		if _, err := p.socket.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: after Reset the other end reads %v, want a reset", kind, err)
		}
		wire, _, p = pair(t, kind)
		wire.Close()
		if _, err := p.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after Close the other end reads %v, want the end", kind, err)
		}
	}
	wire, _, p := pair(t, "unix")
	wire.Reset()
	if _, err := p.Read(make([]byte, 1)); err == nil {
		t.Error("unix: after Reset the other end reads on")
	}
}

// A link is reset with a call under way, and closed in order without.
func TestLinkCloses(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{true, false} {
		s := listen(t, "tcp")
		source := NewSource(s.dialer(), "n")
		dialled := make(chan *Link, 1)
		go func() { // ends when the dial does
			link, err := source.NewPort().Dial(5 * time.Second)
			if err != nil {
				t.Error(err)
			}
			dialled <- link
		}()
		p := <-s.peers
		came, over := make(chan struct{}), make(chan struct{})
		go p.serve(func(string) string { // ends with over
			close(came)
			<-over
			return ""
		})
		link := <-dialled
		if busy {
			go func() { _, _ = link.Do(time.Minute, Cmd("BLPOP", "k", "30")) }() // ends with Close
			<-came
		}
		link.Close()
		source.Close(time.Second)
		_, err := p.socket.Read(make([]byte, 1))
		if errors.Is(err, syscall.ECONNRESET) != busy {
			t.Errorf("busy %v: the other end reads %v", busy, err)
		}
		close(over)
	}
}

func TestTLSOverAWire(t *testing.T) {
	t.Parallel()
	s := listen(t, "tls")
	s.serve(func(string) string { return "+OK\r\n" })
	for name, options := range map[string][]redis.DialOption{
		"plain": {redis.DialContextFunc(NetDial(nil)), redis.DialUseTLS(true)},
		"TLS":   {redis.DialContextFunc(NetDial(s.config())), redis.DialUseTLS(true)},
	} {
		if _, err := redis.DialContext(t.Context(), "tcp", s.addr, options...); !errors.Is(err, errTLSAbove) {
			t.Errorf("%s: %v, want errTLSAbove", name, err)
		}
	}
}
