package redisconn

import (
	"context"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// A connection that came when nobody waited for it any more is looked at before it is used: the other
// side may have closed it meanwhile.
func TestParkedConnection(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		s := listen(t, kind)
		peers := make(chan *peer, 10)
		go func() { // ends with the test's connections
			for p := range s.peers {
				peers <- p
				go p.serve(func(cmd string) string {
					return "+" + cmd + "\r\n"
				})
			}
		}()
		for _, ctx := range both(t) {
			gate, wires := make(chan struct{}), make(chan *Wire, 2)
			d := s.dialer()
			dial := d.Dial
			d.Dial = func(ctx context.Context) (redis.Conn, error) {
				<-gate
				conn, err := dial(ctx)
				wires <- ctx.Value(recorderKey{}).(*recorder).last.Load()
				return conn, err
			}
			source := NewSource(d, "holdfast:test")
			l := NewLine(source)
			t.Cleanup(func() {
				l.Close()
				source.Close(5 * time.Second)
			})
			wantErr(t, l.Do(ctx, echo(1, 20*ms)), ErrTimeout, false)
			close(gate)
			wire := <-wires
			redistest.Until(t, "the connection is greeted", source.Met)
			(<-peers).Close()
			// Nobody waits for the connection, so the wire is ours.
			redistest.Until(t, "the end arrives", func() bool { return wire.look() != nil })
			c := echo(2, 5*time.Second)
			c.Once = true
			if err := l.Do(ctx, c); err != nil || c.Replies[0] != "ECHO 2" {
				t.Fatalf("the next call: %v, %v", c.Replies, err)
			}
			<-peers
		}
	})
}
