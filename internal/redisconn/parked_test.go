package redisconn

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

// A connection that came when nobody waited for it any more is looked at before it is used: the other
// side may have closed it meanwhile.
func TestParkedConnection(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		s := listen(t, kind)
		peers := make(chan *peer, 10)
		var executed atomic.Int64
		go func() { // ends with the test's connections
			for p := range s.peers {
				peers <- p
				go p.serve(func(cmd string) string {
					executed.Add(1)
					return "+" + cmd + "\r\n"
				})
			}
		}()
		d := s.dialer()
		dial := d.Dial
		d.Dial = func(ctx context.Context) (redis.Conn, error) {
			time.Sleep(50 * ms)
			return dial(ctx)
		}
		source := NewSource(d, "holdfast:test")
		l := NewLine(source)
		t.Cleanup(func() {
			l.Close()
			source.Close(5 * time.Second)
		})
		for _, ctx := range both(t) {
			wantErr(t, l.Do(ctx, echo(1, 20*ms)), ErrTimeout, false)
			p := <-peers
			redistest.Until(t, "the connection is there", func() bool { return source.Links() == 1 })
			time.Sleep(50 * ms) // it is greeted
			p.Close()
			time.Sleep(50 * ms)
			c := echo(2, 5*time.Second)
			c.Once = true
			if err := l.Do(ctx, c); err != nil || c.Replies[0] != "ECHO 2" {
				t.Fatalf("the next call: %v, %v", c.Replies, err)
			}
			<-peers
			l.disconnect()
		}
	})
}
