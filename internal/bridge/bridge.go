// Package bridge lets the packages beside lock, such as register and pool, use the machinery of a
// lock.Client that lock does not export: its connections and its way to run scripts. It is a package
// of its own because lock must not know them, and users must not see it.
package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
)

// A Client is a lock.Client as the packages beside lock see it.
type Client interface {
	// Key returns the key of this kind, such as "lock-reg:", for a name, with the client's prefix.
	Key(kind, name string) string

	// LockKey is Key for what belongs to locks: another one for each Options.KeyFormat.
	LockKey(kind, name string) string

	// CheckName returns an error that Is lock.ErrInvalid if the name is none that a lock could have.
	CheckName(name string) error

	// Eval runs a script and returns its reply, which is never a redis.Error. It blocks for one round
	// trip, at most for the operation limit and until ctx ends. It never repeats: an error that Is
	// lock.ErrUnknown says that the script may have been executed. op and name are for the error's text.
	Eval(ctx context.Context, op, name string, script *scripts.Script, keys []string, args ...any) (any, error)

	// Again is Eval for scripts that may be executed twice: after a network error it is sent once more.
	Again(ctx context.Context, op, name string, script *scripts.Script, keys []string, args ...any) (any, error)

	// EvalBy is Eval with another limit, and an error that says nothing of op and name yet.
	EvalBy(ctx context.Context, limit time.Time, script *scripts.Script, keys []string, args ...any) (any, error)

	// LockAny is lock.Mutex.Lock, TryLockAny is TryLock and DoAny is Do for any member of a pool. They
	// return a *lock.Lease and the member.
	LockAny(ctx context.Context, p Pool) (lease any, member string, err error)
	TryLockAny(ctx context.Context, p Pool) (lease any, member string, err error)
	DoAny(ctx context.Context, p Pool, fn func(ctx context.Context, member string) error) error

	// Owners returns a *lock.Owner for each name, nil for what nobody holds, and lock.ErrWrongType for
	// what is no lock. It is executed twice after
	// a network error.
	Owners(ctx context.Context, op, name string, names []string) ([]any, error)

	// ErrInvalid returns an error that Is lock.ErrInvalid.
	ErrInvalid(format string, args ...any) error
}

// A Pool is what LockAny and its like take a member of.
type Pool struct {
	Name    string   // in braces, with a slash behind: the member m's lock is called Name + m
	Key     string   // the sorted set that says who belongs to the pool
	Options any      // a *lock.MutexOptions; nil for the client's
	Only    []string // if not nil, the members that may be taken
	// Members returns those that may be taken otherwise, in the order in which they are to be tried.
	// Unless fresh is set they may be as they were a moment ago. It blocks at most until limit.
	Members func(ctx context.Context, fresh bool, limit time.Time) ([]string, error)
}

// ErrNoMembers is why nothing can be taken from a pool.
var ErrNoMembers = errors.New("the pool has no members")

// ErrNoneOfThem is why none of the members that were named can be taken. It Is [ErrNoMembers].
var ErrNoneOfThem error = noneOfThem{}

type noneOfThem struct{}

func (noneOfThem) Error() string { return "none of the members that were named belongs to the pool" }

func (noneOfThem) Is(target error) bool { return target == ErrNoMembers }

// Of returns a *lock.Client as a Client. Package lock sets it.
var Of func(client any) Client
