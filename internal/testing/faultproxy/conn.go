package faultproxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
	"time"
)

// A conn is one connection through the proxy, and its two pumps.
type conn struct {
	proxy *Proxy
	ends  [2]net.Conn // by the direction of what is read from it

	// Guarded by proxy.mu.
	history []byte // the last commands
	held    *Catch // keeps a request back
	keep    *Catch // waits for a reply, or keeps it back
	lossy   bool   // something was dropped
	ended   bool   // one side has closed its end
	closed  bool   // by the proxy
	pumped  int    // pumps that have ended
}

// pump carries bytes in one direction until one side closes or the proxy resets the connection.
func (c *conn) pump(d Direction) {
	defer c.proxy.pumps.Done()
	next := c.chunks(c.ends[d])
	if d == ToServer {
		next = commands(c.ends[d])
	}
	pieces, gone := make(chan piece, ahead), make(chan struct{})
	defer close(gone)
	go read(next, pieces, gone)
	var err error
	for err == nil {
		p := <-pieces
		err = p.err
		if len(p.data) > 0 {
			if e := c.carry(d, p); e != nil {
				err = e
			}
		}
	}
	c.end(d, err)
}

// ahead bounds what a pump has read and not passed on: a delay does not make the connection slow.
const ahead = 1024

// A piece is what was read at once: the bytes, or the error with which they ended.
type piece struct {
	data []byte
	err  error
	at   time.Time
}

// read reads until an error, or until the pump has gone.
func read(next func() ([]byte, error), pieces chan<- piece, gone <-chan struct{}) {
	for {
		data, err := next()
		select {
		case pieces <- piece{bytes.Clone(data), err, time.Now()}:
		case <-gone:
			return
		}
		if err != nil {
			return
		}
	}
}

// chunks reads what comes.
func (c *conn) chunks(r io.Reader) func() ([]byte, error) {
	buf := make([]byte, 1<<14)
	return func() ([]byte, error) {
		n, err := r.Read(buf)
		return buf[:n], err
	}
}

// commands reads one command at a time: an array of strings, as every client library sends it. What
// comes before an error is returned with it.
func commands(src io.Reader) func() ([]byte, error) {
	r := bufio.NewReader(src)
	return func() ([]byte, error) {
		var raw []byte
		line := func(kind byte) (int, error) {
			text, err := r.ReadBytes('\n')
			raw = append(raw, text...)
			if err != nil || text[0] != kind {
				return 0, err
			}
			return strconv.Atoi(string(bytes.TrimRight(text[1:], "\r\n")))
		}
		n, err := line('*')
		for ; n > 0 && err == nil; n-- {
			var size int
			if size, err = line('$'); err == nil {
				arg := make([]byte, size+2)
				size, err = io.ReadFull(r, arg)
				raw = append(raw, arg[:size]...)
			}
		}
		return raw, err
	}
}

// carry does to the bytes what the faults of the moment say, in the order: catch, hold or drop,
// delay, cut.
func (c *conn) carry(d Direction, read piece) error {
	p, data := c.proxy, read.data
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == ToServer {
		c.history = append(c.history, data...)
		if len(c.history) > maxHistory {
			c.history = append([]byte(nil), c.history[len(c.history)-maxHistory/2:]...)
		}
		c.requestLocked(data)
	} else {
		c.replyLocked()
	}
	rule := p.ruleLocked(c, d)
	for !c.closed && rule.fault == Hold {
		p.changed.Wait()
		rule = p.ruleLocked(c, d)
	}
	switch {
	case c.closed:
		return errReset
	case rule.fault == Drop:
		c.lossy = true
		return nil
	}
	if rule.left != nil {
		if *rule.left -= int64(len(data)); *rule.left < 0 {
			c.write(d, data[:max(0, *rule.left+int64(len(data)))], time.Time{})
			c.reset()
			return errReset
		}
	}
	return c.write(d, data, read.at.Add(rule.delay))
}

// write passes bytes on when it is time. It is called with proxy.mu, and gives it up meanwhile.
func (c *conn) write(d Direction, data []byte, at time.Time) error {
	c.proxy.bytes[d] += int64(len(data))
	c.proxy.mu.Unlock()
	defer c.proxy.mu.Lock()
	if left := time.Until(at); left > 0 {
		<-time.After(left)
	}
	_, err := c.ends[1-d].Write(data)
	return err
}

// end is the end of one pump: the end of the connection is a message too, and subject to the same
// faults.
func (c *conn) end(d Direction, err error) {
	p := c.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	c.ended = true
	for !c.closed && p.ruleLocked(c, d).fault == Hold {
		p.changed.Wait()
	}
	for !c.closed && p.ruleLocked(c, d).fault == Drop {
		c.lossy = true
		p.changed.Wait() // until Heal, or Pass, tells the other side
	}
	c.close(net.Conn.Close) // half-closed connections mean nothing to Redis and its clients
	if c.pumped++; c.pumped == 2 {
		delete(p.conns, c)
	}
	p.changed.Broadcast()
}

// reset ends the connection without a word.
func (c *conn) reset() { c.close(rst) }

// close closes both ends. proxy.mu is held, or nobody knows the connection.
func (c *conn) close(how func(net.Conn) error) {
	if c.closed {
		return
	}
	c.ended, c.closed = true, true
	for _, end := range c.ends {
		_ = how(end)
	}
	c.proxy.changed.Broadcast()
}
