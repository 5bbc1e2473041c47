// Package wire tells what holdfast's calls are on their way to Redis, for tests that stand outside
// and do something to them: a proxy that catches one, a server that answers it wrongly.
package wire

import (
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// The scripts, as EVALSHA calls them: faultproxy's Catch finds a call by one of these.
var (
	Acquire = scripts.Acquire.SHA1
	Extend  = scripts.Extend.SHA1
	Look    = scripts.Look.SHA1
	Owner   = scripts.Owner.SHA1
	Release = scripts.Release.SHA1
	Reset   = scripts.Reset.SHA1
)

// ErrTimeout is what the error of a call is that got no answer within its limit.
var ErrTimeout = redisconn.ErrTimeout

// An Error says of a call that it got no reply.
type Error = redisconn.Error

// Load has a server know all scripts, so that each call is one EVALSHA. Otherwise the first use of
// each takes two round trips.
func Load(t testing.TB, c redis.Conn) {
	t.Helper()
	for _, script := range scripts.All() {
		if _, err := c.Do("SCRIPT", "LOAD", script.Source); err != nil {
			t.Fatalf("SCRIPT LOAD %s: %v", script.Name, err)
		}
	}
}

// Name returns the name of the script that a call of EVALSHA, or of EVAL, is for. It is "" for what
// is no script of holdfast's.
func Name(script string) string {
	for _, s := range scripts.All() {
		if script == s.SHA1 || script == s.Source {
			return s.Name
		}
	}
	return ""
}
