package anyredis

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/holdfast-go/holdfast/internal/inmemory"
)

// Find returns the server to use. It fails if REDIS_URL names a server that does not answer, rather
// than to take another one. It fails when ctx ends, too.
func Find(ctx context.Context) (*Redis, error) {
	r := &Redis{Prefix: "holdfast-" + strings.ToLower(rand.Text()[:10]) + ":"}
	if err := r.find(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// find tries each way in turn. A private server that did not start because ctx ended is no reason
// to take another one.
func (r *Redis) find(ctx context.Context) error {
	if r.URL = os.Getenv(Variable); r.URL != "" {
		return r.foreign(ctx)
	}
	none := r.private(ctx)
	switch {
	case none == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return r.embedded(none)
}

// embedded starts a server inside this process.
func (r *Redis) embedded(why error) error {
	m := inmemory.Miniredis()
	if err := m.Start(); err != nil {
		return fmt.Errorf("no embedded Redis: %w", err)
	}
	r.URL = "redis://" + m.Addr()
	r.About = fmt.Sprintf("an embedded one in this process (miniredis): no %s, %v", Variable, why)
	r.stop = func() error { m.Close(); return nil }
	return nil
}
