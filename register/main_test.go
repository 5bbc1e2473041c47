package register_test

import (
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A backend is a Redis of some kind, all for one test.
type backend struct {
	client *lock.Client
	conn   redis.Conn // of somebody else
	dial   func() (redis.Conn, error)
}

// onBoth runs a test on a real server and on the embedded one.
func onBoth(t *testing.T, test func(t *testing.T, b *backend)) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		dial := func() (redis.Conn, error) { return redis.Dial(s.Network(), s.Addr()) }
		test(t, &backend{locks.Open(t, s.URL(), nil), s.Dial(t), dial})
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s := locktest.Start(t)
		pool := s.Pool()
		conn := pool.Get()
		t.Cleanup(func() {
			_ = conn.Close()
			_ = pool.Close()
		})
		test(t, &backend{s.Client(t, nil), conn, pool.Dial})
	})
}

func (b *backend) do(t testing.TB, command string, args ...any) any {
	t.Helper()
	reply, err := b.conn.Do(command, args...)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return reply
}

// put stores a text as another program does; "" deletes it.
func (b *backend) put(t testing.TB, name, text string) {
	t.Helper()
	if text == "" {
		b.do(t, "DEL", "lock-reg:"+name)
		return
	}
	b.do(t, "SET", "lock-reg:"+name, text)
}

// has checks what is stored; "" if nothing.
func (b *backend) has(t testing.TB, what, name, want string) {
	t.Helper()
	got, err := redis.String(b.do(t, "GET", "lock-reg:"+name), nil)
	if got != want || (err != nil && err != redis.ErrNil) {
		t.Errorf("%s: %q is stored (%v), want %q", what, got, err, want)
	}
}

// lasts checks that the register has about this many milliseconds left; -1 for ever.
func (b *backend) lasts(t testing.TB, what, name string, want int64) {
	t.Helper()
	got, err := redis.Int64(b.do(t, "PTTL", "lock-reg:"+name), nil)
	if err != nil || got > want || got < want-5000 || (want == -1) != (got == -1) {
		t.Errorf("%s: %d ms are left (%v), want %d", what, got, err, want)
	}
}
