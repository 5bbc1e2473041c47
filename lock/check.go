package lock

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/doctor"
	"github.com/holdfast-go/holdfast/internal/engine"
)

// A Level says how much a [Finding] matters.
type Level string

// The levels of findings.
const (
	// LevelOK says that it is as locks need it.
	LevelOK Level = "ok"
	// LevelAdvice says that locks work, and that something could be better. The text says what is
	// at stake.
	LevelAdvice Level = "advice"
	// LevelProblem says that locks do not work, or that a guarantee of this package is broken.
	LevelProblem Level = "problem"
	// LevelUnknown says that Redis does not tell this user, or not now. The text says why.
	LevelUnknown Level = "unknown"
)

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

// Check looks whether the Redis is fit for locks, and what of it the client's user may use. There
// is one finding for each subject, always in this order, and also if all is well:
//   - state, version, role, cluster mode, eviction, persistence, replicas, timeout, hz, clock,
//     latency.
//   - each right, by its ACL rule.
//
// A state in which Redis takes no locks now is a [LevelProblem]: it reads its data, say, or cannot
// write to its disk. The finding about what cannot be found out in that state refers to it. A right
// that is missing is a [LevelProblem] if locks need it, else [LevelAdvice].
//
// Check is for operators, and for a program's start. It changes nothing. To find out about rights
// it tries the commands, on keys of a name that nobody uses. Most of the commands run in a script
// that leaves nothing behind. Those that are denied get into Redis's ACL LOG. A user whose key
// patterns allow certain names only is told that the general pattern is missing. What this user may
// not ask, or Redis does not know, is [LevelUnknown].
//
// Check blocks for about ten round trips and one blocking read of 0.1 s, which Redis may prolong.
// Each round trip takes at most the operation limit of 2 s, and is repeated once after a network
// error. All of it ends with ctx. Check uses one more connection for that time.
//
// What a check finds wrong is never an error. An error says that Redis was not reached, and comes
// without findings. The error Is:
//   - [ErrClosed] if Redis was not reached because the client is closed.
//   - [ErrInvalid] if ctx is nil.
func (c *Client) Check(ctx context.Context) ([]Finding, error) {
	if c.missing() {
		return nil, engine.ErrNoClient
	}
	if err := c.engine.Enter(ctx); err != nil {
		return nil, err
	}
	defer c.engine.Leave()
	open, cancel := c.whileOpen(ctx)
	defer cancel()
	seen, err := doctor.Examine(open, c.store, c.settings.TTL, c.engine.Twice)
	if over := c.ended(ctx); err != nil && over != nil {
		err = over
	}
	if err != nil {
		return nil, fmt.Errorf("lock: check: %w", err)
	}
	findings := make([]Finding, len(seen))
	for i, f := range seen {
		findings[i] = Finding{f.Subject, Level(f.Level), f.Text, f.Remedy}
	}
	return findings, nil
}

// whileOpen returns a context that ends with ctx and when the client is being closed. The caller
// must cancel it.
func (c *Client) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // owned by the caller; ends when it cancels, if not before
		select {
		case <-c.engine.Closing():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
