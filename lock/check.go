package lock

import (
	"context"
	"fmt"
)

// A Level says how much a [Finding] matters.
type Level int

// The levels of findings.
const (
	// OK: it is as locks need it.
	OK Level = iota
	// Advice: locks work, and something could be better; the text says what is at stake.
	Advice
	// Problem: locks do not work, or a guarantee of this package is broken.
	Problem
	// Unknown: Redis does not tell this user, or not now. The text says why.
	Unknown
)

// String returns the level's name in lower case.
func (l Level) String() string {
	switch l {
	case OK:
		return "ok"
	case Advice:
		return "advice"
	case Problem:
		return "problem"
	case Unknown:
		return "unknown"
	}
	return fmt.Sprintf("Level(%d)", int(l))
}

// A Finding is one thing that [Client.Check] looked at.
type Finding struct {
	Subject string // what was looked at: "eviction", "right +get"
	Level   Level
	Text    string // what was found, and what that means
	Remedy  string // what to do; "" if there is nothing to do
}

// String returns the finding as one line for a terminal.
func (f Finding) String() string {
	line := fmt.Sprintf("%-8s %s: %s", f.Level, f.Subject, f.Text)
	if f.Remedy != "" {
		line += "; remedy: " + f.Remedy
	}
	return line
}

// Check looks whether the Redis is fit for locks, and what of it the client's user may use: state,
// version, role, cluster mode, eviction, persistence, replicas, timeout, hz, clock, latency, and then
// each right, by its ACL rule. There is one finding for each, always in this order, and also if all
// is well. A state in which Redis takes no locks now (it reads its data, say, or cannot write to its
// disk) is a [Problem]; what cannot be found out while it lasts refers to it. Rights that are missing
// are a [Problem] if locks need them, else [Advice].
//
// It is for operators, and for a program's start; it changes nothing. To find out about rights it
// tries the commands, on keys of a name that nobody uses, most of them in a script that leaves nothing
// behind; those that are denied get into Redis's ACL LOG. A user whose key patterns allow certain
// names only is told that the general pattern is missing. What this user may not ask, or Redis does
// not know, is [Unknown].
//
// It blocks for about ten round trips and one blocking read of 0.1 s, which Redis may prolong. Each
// round trip takes at most the operation limit of 2 s and is repeated once after a network error;
// all ends with ctx. It uses one more connection for that time. An error says that Redis was not
// reached and comes without findings; it Is [ErrClosed] if that is because the client is closed, and
// [ErrInvalid] if ctx is nil. What a check finds wrong is never an error.
func (c *Client) Check(ctx context.Context) ([]Finding, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.calls.leave()
	open, cancel := c.whileOpen(ctx)
	defer cancel()
	seen, err := c.examine(open)
	if over := c.ended(ctx); err != nil && over != nil {
		err = over
	}
	if err != nil {
		return nil, fmt.Errorf("lock: check: %w", err)
	}
	return append(seen.server(c.settings.ttl), seen.rights(c.store.keyspace)...), nil
}

// whileOpen returns a context that ends with ctx and when the client is being closed. The caller must
// cancel it.
func (c *Client) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // owned by the caller; ends when it cancels, if not before
		select {
		case <-c.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// An examination is what Check has learnt of a Redis.
type examination struct {
	times  []timeReply
	asked  *answers
	role   any            // the reply to ROLE, or an error; nil if INFO told
	probed map[string]any // by the key's kind: the answers to tries, or an error; nil if not tried
	named  any            // the reply to CLIENT SETNAME, or an error
	popped any            // that to BLPOP; nil if it was not tried
	waited bool           // BLPOP was tried
	tagged bool           // the client's prefix has a hash tag
}

// timeSamples is how often the time is asked for: the median tells the latency, the quickest the
// clock.
const timeSamples = 5

// examine asks Redis everything. Only an error on the way there ends it.
func (c *Client) examine(ctx context.Context) (*examination, error) {
	id, err := newID("holdfast-check")
	if err != nil {
		return nil, err
	}
	name := "{" + id + "}" // one slot, in a Cluster
	x := &examination{tagged: hasTag(c.store.prefix)}
	for range timeSamples {
		if err := c.twice(ctx, func() error { return x.time(ctx, c.store) }); err != nil {
			return nil, err
		}
	}
	err = c.twice(ctx, func() (err error) {
		x.asked, err = c.store.ask(ctx, name)
		return err
	})
	if err == nil && x.facts().info["role"] == "" {
		err = c.twice(ctx, func() (err error) {
			x.role, err = c.store.role(ctx)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	err = c.twice(ctx, func() (err error) {
		x.probed, err = c.store.probe(ctx, x.asked, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	kinds := x.blockable()
	x.waited = len(kinds) > 0
	x.named, x.popped = c.store.tryBlocking(ctx, kinds, name)
	return x, ctx.Err()
}

func (x *examination) time(ctx context.Context, s *store) error {
	reply, err := s.time(ctx)
	if err == nil {
		x.times = append(x.times, reply)
	}
	return err
}

// blockable returns the kinds of keys on which BLPOP would be refused for its own sake only.
func (x *examination) blockable() []string {
	var kinds []string
	for _, kind := range []string{kindInbox, kindSignal} {
		if _, ok := x.probed[kind].([]any); ok {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
