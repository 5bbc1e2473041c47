package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// gateExpiry is how long a gate remembers: as long as locks of the usual TTLs remember their last
// fencing token.
const gateExpiry = 7 * 24 * time.Hour

// ErrStale says that a newer fencing token has been at the gate. The error is a [*StaleError],
// which says which.
var ErrStale = errors.New("register: the fencing token is older than one that was here")

// A StaleError says that a fencing token is older than the newest one that was at the gate. It Is
// [ErrStale].
type StaleError struct {
	Name   string
	Token  int64  // the one that was refused
	Newest Number // the newest one that was here: usually an int64
}

// Error names both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("gate %q: the fencing token %d is older than %s, which was here before",
		e.Name, e.Token, e.Newest)
}

// Is reports whether target is [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// A Gate lets writes pass whose fencing token is at least as new as the newest one that has passed.
// It is for resources that cannot compare tokens themselves. See [lock.Lease.Fence].
//
// A Gate stands beside the resource, not in it. A process that is paused after Pass and before its
// write still writes late, after others that passed with newer tokens. A gate narrows that window
// to the time between the two and does not close it. Only the resource itself can: a condition in
// SQL's UPDATE, an If-Match of an object store. If the resource is this very Redis, use
// [Register.SetIf] on the data's own version, or compare tokens in the script that writes.
//
// The newest token is kept in the register of the gate's name, where [Register.Get] reads it. It
// stays for 7 days since the last one passed. If Redis loses it, the next token passes whatever it
// is. A lease with a TTL of more than 7 days can be held for longer than the gate remembers. Such a
// lease needs a resource that compares tokens itself.
//
// Share a Gate freely: its method may be called from any goroutine.
type Gate struct{ register *Register }

// NewGate returns the gate of this name. Take the lock's, or one for each resource that the lock
// guards. NewGate does no input or output. Bad names show at the first call, as [lock.ErrInvalid].
func NewGate(c *lock.Client, name string) *Gate { return &Gate{New(c, name)} }

// Pass returns nil, and remembers the token, if no newer one has passed. The same token passes any
// number of times. Call Pass right before the write, and do not write after any error:
//
//   - [ErrStale]: a newer token has passed. The error is a [*StaleError]. The lease is lost.
//   - [lock.ErrInvalid]: the token is not a lease's, such as the 0 of a lease without one. Nothing
//     was sent.
//   - [ErrNotNumber]: something else is stored under the gate's name, and stays.
//   - [lock.ErrUnknown], or Redis's own or the network's: it is not known whether the token is
//     stale. To call Pass again is safe.
//
// It blocks for one round trip, at most for the operation limit of 2 s or until ctx ends. After a
// network error it asks once more, because passing twice is the same as passing once.
func (g *Gate) Pass(ctx context.Context, token int64) error {
	if g == nil || g.register == nil {
		return invalid("the gate is nil, or empty: use one that NewGate returned")
	}
	if token <= 0 {
		return invalid("%d is no fencing token: give the Fence of a lease that has one,"+
			" which NoFence leaves out", token)
	}
	args, err := setting(LessOrEqual, Int(token), Int(token), &Options{Expiry: gateExpiry})
	if err != nil {
		return err
	}
	result, err := g.register.run(ctx, "pass the gate", true, args)
	if err != nil {
		return err
	}
	if !result.Done {
		return &StaleError{Name: g.register.name, Token: token, Newest: result.Stored}
	}
	return nil
}
