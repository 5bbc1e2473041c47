package inmemory

import (
	"io"
	"net"
	"sync"
	"time"
)

// A wire is a client's connection to the embedded Redis: two pipes, and between them what a network
// does. A wire can be cut, can be slow, and keeps replies that nobody reads yet.
//
// A net.Pipe holds nothing. Without replies that are kept, a client that writes a large batch
// before reading would wait for a server that waits for the client.
//
// Three goroutines work on a wire: send, receive and deliver. Each ends when the wire is closed,
// and closes the wire when it ends.
type wire struct {
	client net.Conn // the far end of the client's pipe
	redis  net.Conn // the near end of the server's
	late   *lateness
	once   sync.Once
	closed func(*wire)   // called once by close
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

func newWire(client, redis net.Conn, late *lateness, closed func(*wire)) *wire {
	return &wire{
		client: client,
		redis:  redis,
		late:   late,
		closed: closed,
		done:   make(chan struct{}),
		more:   make(chan struct{}, 1),
	}
}

// close cuts the wire. What is on its way is lost. Both ends of the wire and the server may do it:
// the first one does, the others wait for that.
func (w *wire) close() {
	w.once.Do(func() {
		close(w.done)
		_ = w.client.Close() // a pipe's is always nil
		_ = w.redis.Close()
		w.closed(w)
	})
}

// send carries the client's commands to Redis.
func (w *wire) send() {
	defer w.close()
	_, _ = io.Copy(w.redis, w.client) // it ends when the wire is cut
}

// receive takes replies from Redis, as fast as they come. One slot of more is enough: it says that
// there are some, and deliver takes all before it waits again.
func (w *wire) receive() {
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
	defer w.close()
	for {
		r, ok := w.next()
		if !ok || !w.late.wait(r.at, w.done) {
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
