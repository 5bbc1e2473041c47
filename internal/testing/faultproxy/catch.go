package faultproxy

import (
	"bytes"
	"time"
)

// A Fate is what happens to a command that is caught.
type Fate int

// The fates. Of the last two the whole connection is the victim.
const (
	Tell        Fate = iota // it passes
	HoldRequest             // it, and what comes behind it, is kept back until Release or Heal
	HoldReply               // it is executed, and everything that comes back is kept back until then
	CutRequest              // it is not executed: the connection is reset
	CutReply                // it is executed, and the connection reset when its reply is there
)

// A Catch waits for one command.
type Catch struct {
	proxy *Proxy
	fate  Fate
	texts []string
	done  chan struct{}

	// Guarded by proxy.mu.
	at       time.Time // when the command came
	conn     *conn     // on which it came
	told     bool      // done is closed
	released bool
}

// Catch catches the next command that contains all of the texts. Of several catches that match a
// command the first one catches it, so equal ones catch one after the other.
func (p *Proxy) Catch(fate Fate, texts ...string) *Catch {
	k := &Catch{proxy: p, fate: fate, texts: texts, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.catches = append(p.catches, k)
	return k
}

// Done is closed when the fate has come: the command, or its reply, is held or cut off.
func (k *Catch) Done() <-chan struct{} { return k.done }

// At returns when the command came to the proxy: a little after it was sent.
func (k *Catch) At() time.Time {
	k.proxy.mu.Lock()
	defer k.proxy.mu.Unlock()
	return k.at
}

// Release lets go on what is held, also if the side that it came from is gone.
func (k *Catch) Release() {
	k.proxy.mu.Lock()
	defer k.proxy.mu.Unlock()
	k.released = true
	k.proxy.changed.Broadcast()
}

// Reset ends the connection on which the command came.
func (k *Catch) Reset() {
	k.proxy.mu.Lock()
	defer k.proxy.mu.Unlock()
	if k.conn != nil {
		k.conn.reset()
	}
}

func (k *Catch) tellLocked() {
	if !k.told {
		k.told = true
		close(k.done)
	}
}

func (k *Catch) matches(command []byte) bool {
	for _, text := range k.texts {
		if !bytes.Contains(command, []byte(text)) {
			return false
		}
	}
	return true
}

// requestLocked catches a command, and returns when it may go on.
func (c *conn) requestLocked(command []byte) {
	k := c.proxy.takeLocked(command)
	if k == nil {
		return
	}
	k.at, k.conn = time.Now(), c
	switch k.fate {
	case Tell:
		k.tellLocked()
	case HoldRequest:
		c.held = k
		k.tellLocked()
		for !k.released && !c.closed {
			c.proxy.changed.Wait()
		}
		c.held = nil
	case HoldReply, CutReply:
		c.keep = k
	case CutRequest:
		c.reset()
		k.tellLocked()
	}
}

// takeLocked returns the first catch that matches the command, once.
func (p *Proxy) takeLocked(command []byte) *Catch {
	for i, k := range p.catches {
		if k.matches(command) {
			p.catches = append(p.catches[:i:i], p.catches[i+1:]...)
			return k
		}
	}
	return nil
}

// replyLocked deals with bytes that come back after a command was caught.
func (c *conn) replyLocked() {
	k := c.keep
	if k == nil {
		return
	}
	if k.fate == CutReply {
		c.reset()
	}
	k.tellLocked()
	for !k.released && !c.closed {
		c.proxy.changed.Wait()
	}
	if c.keep == k {
		c.keep = nil
	}
}
