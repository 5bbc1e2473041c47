package lock

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// NetDial returns a function that dials the connections of a [redis.Pool], which [New] gets then.
// These connections have what those of [Open] have:
//
//	dial := redis.DialContextFunc(lock.NetDial(nil))
//	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
//		return redis.DialURLContext(ctx, "redis://localhost:6379/0", dial)
//	}}
//
// A connection that the other side closed while it was idle is replaced before anything is sent on
// it. A reply that nobody asked for ends the connection. A connection that is given up with calls
// under way is reset, so that nothing of them arrives later. Errors name the server's address.
//
// These replies are errors, before memory is spent on them:
//   - a reply of more than 64 MB.
//   - a reply of more than 1,000,000 elements.
//   - a reply with more than 8 arrays within each other.
//
// With a configuration the connection is made over TLS, whatever the URL says. Write a redis:// URL
// and leave out redis.DialUseTLS, because TLS over such a connection is an error. The server must
// have the name that is dialled, if the configuration has no ServerName. Nil means no TLS.
//
// To connect takes at most 10 s. The kernel asks after 15 s of silence whether the other side is
// there. redis.DialConnectTimeout, DialKeepAlive and the DialTLS options have no effect. The
// [redis.Pool] has to use DialContext, and to hand its context on. With Dial alone the redis.Pool
// gets the limits of replies only.
func NetDial(config *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return redisconn.NetDial(config)
}
