package redisconn

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A guarded connection turns panics of a user's own redis.Conn into errors. Which goroutine meets
// the panic is chance: a caller that drives the calls of others, or the line's own goroutine, where
// a panic would end the process. So all calls in flight get the error, and the connection is given
// up like any that broke.
//
// conn is not embedded: a method that has no guard here cannot be called by mistake.
type guarded struct{ conn redis.Conn }

func (g guarded) send(name string, args []any) (err error) {
	defer recovered(&err)
	return g.conn.Send(name, args...)
}

func (g guarded) flush() (err error) {
	defer recovered(&err)
	return g.conn.Flush()
}

// receive waits for a reply. A limit above 0 is the read deadline, on connections that know one.
// With 0 the deadline is the dialer's, if it has set one.
func (g guarded) receive(limit time.Duration) (reply any, err error) {
	defer recovered(&err)
	if limit > 0 {
		if c, ok := g.conn.(redis.ConnWithTimeout); ok {
			return c.ReceiveWithTimeout(limit)
		}
	}
	return g.conn.Receive()
}

func (g guarded) close() (err error) {
	defer recovered(&err)
	return g.conn.Close()
}

// recovered makes an error of a panic. It is deferred.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the connection's code panicked: %v (%s)", v, panicSite())
	}
}

// panicSite returns the function and the line that panicked. The stack is not unwound yet while
// recovered runs: behind runtime.gopanic stands what has called it.
func panicSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	began := false // behind the panic itself
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			began = true
		case began && !strings.HasPrefix(frame.Function, "runtime."):
			return fmt.Sprintf("%s, %s:%d", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return "unknown place"
		}
	}
}
