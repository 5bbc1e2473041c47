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

// Examine asks a Redis everything and returns the findings. ttl is that of the client's locks.
// twice does something, and once again after a network error. Only an error on the way to Redis
// ends the examination, and that of ctx.
//
// It changes nothing. The name that it tries commands on is made anew each time. So nobody has a
// lock of that name, nor the keys that belong to it.
//
// To find a right missing is no error, and neither is a server that refuses everything. Operators
// want to see the rest then as well, and each finding says itself why it is not known.
func Examine(ctx context.Context, s *store.Store, ttl time.Duration,
	twice func(ctx context.Context, do func() error) error,
) ([]Finding, error) {
	id, err := owner.New("holdfast-check")
	if err != nil {
		return nil, err
	}
	name := "{" + id + "}" // one slot, in a Cluster: the probe of one kind has one key, but BLPOP has two
	x := &examination{tagged: s.Tagged()}
	var questions []func() error
	for range timeSamples {
		questions = append(questions, func() error { return x.askTime(ctx, s) })
	}
	// Each of these goes by what the one before it has found out.
	questions = append(
		questions,
		func() error { return x.askFacts(ctx, s, name) },
		func() error { return x.askRole(ctx, s) },
		func() error { return x.askKeys(ctx, s, name) },
	)
	// Each question is repeated by itself. What an earlier one has answered is not asked again.
	for _, ask := range questions {
		if err := twice(ctx, ask); err != nil {
			return nil, err
		}
	}
	// This one dials a connection of its own. That it fails is a finding, so that nothing is
	// repeated.
	kinds := x.blockable()
	x.waited = len(kinds) > 0
	x.named, x.popped = s.TryBlocking(ctx, kinds, name)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return append(x.server(ttl), x.rights(s.Keyspace)...), nil
}

// askTime asks for the server's time once more. A sample that got no answer is none.
func (x *examination) askTime(ctx context.Context, s *store.Store) error {
	t, err := s.Time(ctx)
	if err == nil {
		x.times = append(x.times, t)
	}
	return err
}

// askFacts asks for what needs no key, in one round trip.
func (x *examination) askFacts(ctx context.Context, s *store.Store, name string) (err error) {
	x.facts, err = s.Ask(ctx, name)
	return err
}

// askRole asks for the role if INFO did not tell. Who may not ask for INFO may be allowed that.
func (x *examination) askRole(ctx context.Context, s *store.Store) (err error) {
	if x.facts.Info["role"] == "" {
		x.role, err = s.Role(ctx)
	}
	return err
}

// askKeys tries commands on keys, as far as that is allowed.
func (x *examination) askKeys(ctx context.Context, s *store.Store, name string) (err error) {
	x.probed, err = s.Probe(ctx, x.facts, name)
	return err
}

// blockable returns the kinds of keys on which BLPOP would be refused for its own sake only. A
// refusal because of a key would say nothing of the right to BLPOP. The finding about the key tells
// of it already.
func (x *examination) blockable() []string {
	var kinds []string
	for _, kind := range []string{store.KindInbox, store.KindSignal} {
		if p, ok := x.probed[kind]; ok && p.Err == nil {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// server returns the findings about the server itself, in the order that lock.Client.Check
// promises. There is one for each subject, also if Redis tells nothing of it.
func (x *examination) server(ttl time.Duration) []Finding {
	f := facts{x.facts, x}
	return []Finding{
		x.state(), f.version(), f.master(), f.cluster(), f.eviction(), f.persistence(), f.replicas(),
		f.timeout(), f.hz(), x.clock(), x.latency(ttl),
	}
}
