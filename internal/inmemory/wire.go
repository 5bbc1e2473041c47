package inmemory

import (
	"io"
	"net"
	"sync"
	"time"
)

// A wire is a client's connection to the embedded Redis: two pipes, and between them what a network
// does. It can be cut, it can be slow, and it keeps replies that nobody reads yet. Without that last
// a client that writes a large batch before it reads would wait for a server that waits for it: a
// net.Pipe holds nothing.
type wire struct {
	server *Server
	client net.Conn // the far end of the client's pipe
	redis  net.Conn // the near end of the server's
	once   sync.Once
	done   chan struct{} // closed by close
	more   chan struct{} // one slot: replies has grown

	mu      sync.Mutex // guards the field below
	replies []reply    // on their way to the client
}

// A reply is a piece of what Redis answered.
type reply struct {
	bytes []byte
	at    time.Time // when Redis gave it
}

func newWire(s *Server, client, redis net.Conn) *wire {
	return &wire{
		server: s,
		client: client,
		redis:  redis,
		done:   make(chan struct{}),
		more:   make(chan struct{}, 1),
	}
}

// close cuts the wire. What is on its way is lost.
func (w *wire) close() {
	w.once.Do(func() {
		close(w.done)
		_ = w.client.Close() // a pipe's is always nil
		_ = w.redis.Close()
		w.server.forget(w)
	})
}

// send carries the client's commands to Redis.
func (w *wire) send() {
	defer w.server.pumps.Done()
	defer w.close()
	_, _ = io.Copy(w.redis, w.client) // it ends when the wire is cut
}

// receive takes replies from Redis, as fast as they come.
func (w *wire) receive() {
	defer w.server.pumps.Done()
	defer w.close()
	buffer := make([]byte, 4096)
	for {
		n, err := w.redis.Read(buffer)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.replies = append(w.replies, reply{append([]byte(nil), buffer[:n]...), time.Now()})
		w.mu.Unlock()
		select {
		case w.more <- struct{}{}:
		default:
		}
	}
}

// deliver carries replies to the client, each as late as the server's delay says.
func (w *wire) deliver() {
	defer w.server.pumps.Done()
	defer w.close()
	for {
		r, ok := w.next()
		if !ok || !w.hold(r.at) {
			return
		}
		if _, err := w.client.Write(r.bytes); err != nil {
			return
		}
	}
}

// next waits for a reply. ok is false when the wire is cut.
func (w *wire) next() (r reply, ok bool) {
	for {
		w.mu.Lock()
		if len(w.replies) > 0 {
			r, w.replies = w.replies[0], w.replies[1:]
			w.mu.Unlock()
			return r, true
		}
		w.mu.Unlock()
		select {
		case <-w.more:
		case <-w.done:
			return reply{}, false
		}
	}
}

// hold waits until a reply given at this time may be delivered. It returns false when the wire is
// cut.
func (w *wire) hold(at time.Time) bool {
	for {
		delay, changed := w.server.slowness()
		left := delay - time.Since(at)
		if delay == 0 || left <= 0 {
			return true
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-changed:
		case <-w.done:
			t.Stop()
			return false
		}
		t.Stop()
	}
}
