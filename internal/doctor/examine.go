package doctor

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
)

// timeSamples is how often the time is asked for: the median tells the latency, the quickest the
// clock.
const timeSamples = 5

// Examine asks a Redis everything and returns the findings. ttl is that of the client's locks. twice does something, and
// once again after a network error. Only an error on the way to Redis ends it, and that of ctx.
func Examine(ctx context.Context, s *store.Store, ttl time.Duration,
	twice func(ctx context.Context, do func() error) error,
) ([]Finding, error) {
	id, err := owner.New("holdfast-check")
	if err != nil {
		return nil, err
	}
	name := "{" + id + "}" // one slot, in a Cluster
	x := &examination{tagged: s.Tagged()}
	questions := []func() error{
		func() error { return x.askFacts(ctx, s, name) },
		func() error { return x.askRole(ctx, s) },
		func() (err error) {
			x.probed, err = s.Probe(ctx, x.facts, name)
			return err
		},
	}
	for range timeSamples {
		questions = append([]func() error{func() error { return x.askTime(ctx, s) }}, questions...)
	}
	for _, ask := range questions {
		if err := twice(ctx, ask); err != nil {
			return nil, err
		}
	}
	kinds := x.blockable()
	x.waited = len(kinds) > 0
	x.named, x.popped = s.TryBlocking(ctx, kinds, name)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return append(x.server(ttl), x.rights(s.Keyspace)...), nil
}

func (x *examination) askTime(ctx context.Context, s *store.Store) error {
	t, err := s.Time(ctx)
	if err == nil {
		x.times = append(x.times, t)
	}
	return err
}

func (x *examination) askFacts(ctx context.Context, s *store.Store, name string) (err error) {
	x.facts, err = s.Ask(ctx, name)
	return err
}

// askRole asks for the role if INFO did not tell.
func (x *examination) askRole(ctx context.Context, s *store.Store) (err error) {
	if x.facts.Info["role"] == "" {
		x.role, err = s.Role(ctx)
	}
	return err
}

// blockable returns the kinds of keys on which BLPOP would be refused for its own sake only.
func (x *examination) blockable() []string {
	var kinds []string
	for _, kind := range []string{store.KindInbox, store.KindSignal} {
		if p, ok := x.probed[kind]; ok && p.Err == nil {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// server returns the findings about the server itself.
func (x *examination) server(ttl time.Duration) []Finding {
	f := facts{x.facts, x}
	return []Finding{
		x.state(), f.version(), f.master(), f.cluster(), f.eviction(), f.persistence(), f.replicas(),
		f.timeout(), f.hz(), x.clock(), x.latency(ttl),
	}
}
