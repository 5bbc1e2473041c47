package faultproxy

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A Direction is one of the two in which bytes go.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// A Fault is what happens to bytes, and to the end of a connection, in one direction.
type Fault int

// The faults.
const (
	Pass Fault = iota
	Hold       // kept back, in order, until the fault is changed
	Drop       // swallowed; a connection that is closed meanwhile stays open on the other side
)

// A Proxy accepts connections and makes one to the server for each. Its methods may be called from
// any goroutine.
type Proxy struct {
	listener          net.Listener
	network, upstream string
	pumps             sync.WaitGroup

	mu      sync.Mutex // guards the fields below and those of connections and catches
	changed *sync.Cond // of anything below
	rules   []rule     // the last one that matches counts
	catches []*Catch   // not caught yet
	conns   map[*conn]struct{}
	bytes   [2]int64
	refuse  bool
	closed  bool
}

// A rule is what Set, Delay or Cut said.
type rule struct {
	direction Direction
	text      string // of connections that sent it
	fault     Fault
	delay     time.Duration
	left      *int64 // bytes that may pass before the connection is reset; nil: any
}

// Start runs a proxy for the server at this address, as net.Dial wants it, until the end of the
// test. It listens on a unix socket if the server does, else on a port of 127.0.0.1.
func Start(t testing.TB, network, addr string) *Proxy {
	t.Helper()
	listener, err := listen(t, network)
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	p := &Proxy{
		listener: listener, network: network, upstream: addr, conns: make(map[*conn]struct{}),
	}
	p.changed = sync.NewCond(&p.mu)
	p.pumps.Add(1)
	go p.accept() // owned by the proxy; ended by close, which waits for it
	t.Cleanup(p.close)
	return p
}

func listen(t testing.TB, network string) (net.Listener, error) {
	if network != "unix" {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	dir, err := os.MkdirTemp("", "proxy-") // t.TempDir's paths are too long for a socket
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return net.Listen("unix", filepath.Join(dir, "p.sock"))
}

// Addr is where the proxy listens, as net.Dial wants it, on the network of its server.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL is where the proxy listens.
func (p *Proxy) URL() string {
	if p.network == "unix" {
		return (&url.URL{Scheme: "unix", Path: p.Addr()}).String()
	}
	return "redis://" + p.Addr() + "/0"
}

// Set lets a fault happen, from now on, to connections that have sent the text; to all, the new
// ones too, if it is empty. Pass takes such a fault back.
func (p *Proxy) Set(d Direction, f Fault, text string) {
	p.add(rule{direction: d, text: text, fault: f})
}

// Partition is Drop in both directions.
func (p *Proxy) Partition(text string) {
	p.add(rule{direction: ToServer, text: text, fault: Drop}, rule{direction: ToClient, text: text, fault: Drop})
}

// Delay lets everything arrive that much later.
func (p *Proxy) Delay(d Direction, by time.Duration, text string) {
	p.add(rule{direction: d, text: text, delay: by})
}

// Cut resets connections when n more bytes have passed, all of them together.
func (p *Proxy) Cut(d Direction, n int64, text string) {
	p.add(rule{direction: d, text: text, left: &n})
}

func (p *Proxy) add(rules ...rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, rules...)
	p.changed.Broadcast()
}

// Refuse resets new connections at once, or stops doing so.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Heal ends all faults: what was held goes on, and a connection of which bytes were dropped is
// reset, as it would be where the bytes after a gap do not fit.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules, p.catches, p.refuse = nil, nil, false
	for c := range p.conns {
		if c.lossy {
			c.reset()
		}
		for _, k := range []*Catch{c.held, c.keep} {
			if k != nil {
				k.released = true
			}
		}
	}
	p.changed.Broadcast()
}

// Reset ends the connections that have sent the text, without a word (RST, where there is such a
// thing), and returns how many there were.
func (p *Proxy) Reset(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := range p.conns {
		if !c.ended && c.hasSent(text) {
			c.reset()
			n++
		}
	}
	return n
}

// Open returns how many connections there are that have sent the text and of which neither side has
// closed its end.
func (p *Proxy) Open(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := range p.conns {
		if !c.ended && c.hasSent(text) {
			n++
		}
	}
	return n
}

// Bytes returns how many bytes were passed on.
func (p *Proxy) Bytes(d Direction) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes[d]
}

func (p *Proxy) accept() {
	defer p.pumps.Done()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.upstream)
		if err != nil {
			_ = rst(client)
			continue
		}
		p.begin(&conn{proxy: p, ends: [2]net.Conn{ToServer: client, ToClient: server}})
	}
}

// begin starts the pumps of a connection, which end with it.
func (p *Proxy) begin(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refuse {
		c.reset()
		return
	}
	p.conns[c] = struct{}{}
	p.pumps.Add(2)
	go c.pump(ToServer)
	go c.pump(ToClient)
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.reset()
	}
	p.changed.Broadcast()
	p.mu.Unlock()
	p.listener.Close()
	p.pumps.Wait()
}

// rst closes a connection so that the other side sees an error, not an end, where that is possible.
func rst(c net.Conn) error {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return c.Close()
}

// ruleLocked returns what applies to a connection now.
func (p *Proxy) ruleLocked(c *conn, d Direction) rule {
	for i := len(p.rules) - 1; i >= 0; i-- {
		if r := p.rules[i]; r.direction == d && c.hasSent(r.text) {
			return r
		}
	}
	return rule{}
}

// errReset is the error of a connection that the proxy has closed.
var errReset = errors.New("faultproxy: reset")

// maxHistory bounds how much of what a connection sent is remembered.
const maxHistory = 1 << 16

// hasSent reports whether the client has sent the text lately. proxy.mu is held.
func (c *conn) hasSent(text string) bool { return bytes.Contains(c.history, []byte(text)) }
