package redistest_test

import (
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// A command that a closed connection has not got through is executed after the network is whole again.
func TestNamespace(t *testing.T) {
	t.Parallel()
	n := redistest.StartNamespace(t)
	dialer := net.Dialer{Timeout: time.Second}
	c, err := redis.Dial("tcp", n.Addr, redis.DialContextFunc(n.Dial(dialer.DialContext)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do("SET", "before", 1); err != nil {
		t.Fatal(err)
	}
	if conn, err := dialer.Dial("tcp", n.Addr); err == nil {
		_, err = redis.NewConn(conn, time.Second, time.Second).Do("GET", "before")
		t.Logf("another server listens at %s of the machine: %v", n.Addr, err)
	}
	n.Cut(t)
	if _, err := redis.DoWithTimeout(c, 100*time.Millisecond, "SET", "late", 1); err == nil {
		t.Error("a command got through the cut")
	}
	c.Close()
	if _, err := n.Dial(dialer.DialContext)(t.Context(), "tcp", n.Addr); err == nil {
		t.Error("a connection got through the cut")
	}
	if n.Server.Do(t, "EXISTS", "late") != int64(0) {
		t.Error("it was executed in spite of the cut")
	}
	n.Heal(t)
	redistest.Until(t, "the kernel sends it again", func() bool {
		return n.Server.Do(t, "EXISTS", "late") == int64(1)
	})
}
