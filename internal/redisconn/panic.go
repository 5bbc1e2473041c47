package redisconn

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A guarded connection turns panics of a user's own redis.Conn into errors. Which goroutine meets the
// panic is chance: it may drive the calls of others, or be the line's own, where a panic would end the
// process. So all calls in flight get the error, and the connection is given up like any that broke.
type guarded struct{ redis.Conn }

// Send implements redis.Conn.
func (g guarded) Send(name string, args ...any) (err error) {
	defer recovered(&err)
	return g.Conn.Send(name, args...)
}

// Flush implements redis.Conn.
func (g guarded) Flush() (err error) {
	defer recovered(&err)
	return g.Conn.Flush()
}

// Receive implements redis.Conn.
func (g guarded) Receive() (reply any, err error) {
	defer recovered(&err)
	return g.Conn.Receive()
}

// receive is Receive with a read deadline, on connections that know one.
func (g guarded) receive(limit time.Duration) (reply any, err error) {
	defer recovered(&err)
	if c, ok := g.Conn.(redis.ConnWithTimeout); ok {
		return c.ReceiveWithTimeout(limit)
	}
	return g.Conn.Receive()
}

// Close implements redis.Conn.
func (g guarded) Close() (err error) {
	defer recovered(&err)
	return g.Conn.Close()
}

// recovered makes an error of a panic. It is deferred.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the connection's code panicked: %v (%s)", v, panicSite())
	}
}

// panicSite returns the function and the line that panicked.
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
