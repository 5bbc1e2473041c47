package register

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// ErrNotNumber says that the register's key holds something that is no number, or is of another
// type than a string. Nothing was changed. Such errors also are [lock.ErrWrongType].
var ErrNotNumber = errors.New("register: what is stored is no number")

// A Register is the name of a number in Redis. It holds nothing itself: the number is there or
// absent. Most callers want [Register.SetIf]. Share a Register freely: its methods may be called
// from any goroutine.
//
// Bad names show at the first call, as [lock.ErrInvalid], before anything is sent. Names are what a
// lock may have. They share nothing with a lock of the same name.
type Register struct {
	client *bridge.View[*lock.Lease, *lock.MutexOptions, lock.Owner]
	name   string
}

// New returns the register of this name. Its number is under the client's prefix, and it uses the
// client's connection for calls. New does no input or output. The register needs no closing. Once
// the client is closed, its methods return [lock.ErrClosed].
func New(c *lock.Client, name string) *Register {
	return &Register{client: bridge.Of(c), name: name}
}

// Name returns the register's name.
func (r *Register) Name() string { return r.there().name }

// there returns the register. It panics if there is none.
func (r *Register) there() *Register {
	if r == nil || r.client == nil {
		panic(invalid("the register is nil, or empty: use one that New returned"))
	}
	return r
}

// A Result is what came of a comparison.
type Result struct {
	// Done says that the comparison was true, or that the register was absent. Now the register
	// holds the value that SetIf was given, or is absent after DeleteIf.
	Done bool
	// Stored is what was there before, as it was written there, "" if the register was absent. If
	// Done is false, that is there still.
	Stored Number
}

// Get returns the number that is stored, as it was written there. ok is false if the register is
// absent.
//
// Like all methods Get blocks for one round trip, at most for the operation limit of 2 s or until
// ctx ends. After a network error it asks once more. Errors:
//
//   - [ErrNotNumber]: something else is stored.
//   - Redis's own or the network's.
func (r *Register) Get(ctx context.Context) (value Number, ok bool, err error) {
	result, err := r.there().run(ctx, "read the register", true, nil)
	return result.Stored, result.Stored != "", err
}

// SetIf sets the register to value if the number that is stored there stands to than as the
// comparison says, or if nothing is stored. SetIf(ctx, Less, "7", "8", nil) sets 8 if less than 7
// is stored. The expiry is replaced too, or kept: see [Options].
//
// SetIf blocks for one round trip, at most for the operation limit of 2 s or until ctx ends.
// Errors:
//
//   - [ErrNotNumber]: something else is stored, and stays as it is.
//   - [lock.ErrInvalid]: an argument is not usable. Nothing was sent.
//   - [lock.ErrUnknown]: it is not known whether the register was set. SetIf is not repeated then.
//   - Redis's own or the network's: the register was not set.
//
// A repeat would meet what the first one stored, and could answer that nothing was done. To call
// SetIf again is safe where value itself passes the comparison: with LessOrEqual and the same
// number as than and value, say. Then once more changes nothing but the expiry. Else ask with
// [Register.Get].
func (r *Register) SetIf(
	ctx context.Context, is Comparison, than, value Number, o *Options,
) (Result, error) {
	args, err := setting(is, than, value, o)
	if err != nil {
		return Result{}, err
	}
	return r.there().run(ctx, "set the register", false, args)
}

// DeleteIf deletes the register if the number that is stored there stands to than as the comparison
// says. Of an absent register the result is Done, with nothing Stored: the number is gone, though
// not by this call.
//
// It blocks and fails as [Register.SetIf] does. After [lock.ErrUnknown] it may be called again, if
// a number that somebody sets meanwhile may be deleted too. Done then says that the number is gone,
// but not what was there.
func (r *Register) DeleteIf(
	ctx context.Context, is Comparison, than Number, o *Options,
) (Result, error) {
	args, err := deleting(is, than, o)
	if err != nil {
		return Result{}, err
	}
	return r.there().run(ctx, "delete the register", false, args)
}

// run lets the script do what its arguments say. again allows it to be executed twice. The client
// is entered for all of that, so that Close waits for it.
func (r *Register) run(ctx context.Context, op string, again bool, args []any) (Result, error) {
	if err := r.client.CheckName(r.name); err != nil {
		return Result{}, err
	}
	e := r.client.Engine
	if err := e.Enter(ctx); err != nil {
		return Result{}, err
	}
	defer e.Leave()
	var c store.Compared
	compare := func() (err error) {
		c, err = e.Store().Compare(ctx, r.name, again, args)
		return err
	}
	err := error(nil)
	if again {
		err = e.Twice(ctx, compare)
	} else {
		err = compare()
	}
	switch key := e.Store().NumberKey(r.name); {
	case err != nil && store.WrongType(err):
		return Result{}, &notNumber{name: r.name, key: key, cause: engine.Explain(op, r.name, err)}
	case err != nil:
		return Result{}, engine.Explain(op, r.name, err)
	case c.NoNumber:
		return Result{}, &notNumber{name: r.name, key: key, text: c.Stored}
	}
	return Result{Done: c.Done, Stored: Number(c.Stored)}, nil
}

// A notNumber says what is stored instead of a number.
type notNumber struct {
	name, key, text string
	cause           error // Redis's, if it is of another type: then there is no text
}

func (e *notNumber) Error() string {
	what := fmt.Sprintf("%.40q, which is no number", e.text)
	if e.cause != nil {
		what = "no string"
	}
	return fmt.Sprintf("register %q: the key %s holds %s: delete it, or choose another name",
		e.name, e.key, what)
}

// Is reports whether target is [ErrNotNumber] or [lock.ErrWrongType].
func (e *notNumber) Is(target error) bool {
	return target == ErrNotNumber || target == lock.ErrWrongType
}

func (e *notNumber) Unwrap() error { return e.cause }
