package store_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testing/parrot"
)

// A heard is a connection of which a test knows what was sent on it.
type heard struct {
	parrot.Conn
	sent []string
}

func (c *heard) Send(cmd string, args ...any) error {
	c.sent = append(c.sent, cmd)
	return c.Conn.Send(cmd, args...)
}

// An acquire has one repeat. It is not used up by a connection that died while nobody used it,
// since that one is tried before a pool's members are asked for. Who only wants to know them may
// ask twice.
func TestCandidatesTryAnIdleConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask  func(ctx context.Context, p *store.Pools) ([]string, error)
		want []string
	}{
		"candidates": {
			func(ctx context.Context, p *store.Pools) ([]string, error) {
				return p.Candidates(ctx, store.LimitFromNow(), "{p}/")
			},
			[]string{"PING", "EVALSHA"},
		},
		"members": {
			func(ctx context.Context, p *store.Pools) ([]string, error) { return p.Members(ctx, "{p}/") },
			[]string{"EVALSHA"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn := &heard{}
				s := open(func(context.Context) (redis.Conn, error) { return conn, nil })
				defer s.Close(time.Second)
				var before int
				for range 2 {
					before = len(conn.sent)
					if got, err := c.ask(t.Context(), s.Pools()); err != nil || !slices.Equal(got, []string{"a", "b"}) {
						t.Fatalf("the members are %q, %v", got, err)
					}
					time.Sleep(time.Minute)
				}
				if got := conn.sent[before:]; !slices.Equal(got, c.want) {
					t.Errorf("after a minute it sends %q, want %q", got, c.want)
				}
			})
		})
	}
}
