package renewal

import (
	"errors"
	"fmt"
)

var (
	// ErrExpired is why a term ended whose validUntil passed. The cause also wraps the error of
	// the last renewal if that had failed. [Set.Add] returns it for a term that is over already.
	ErrExpired = errors.New("renewal: term expired")

	// ErrMaxHold is why a term ended that was held for as long as Config.MaxHold allows. The cause
	// wraps nothing else, [ErrExpired] least of all: renewals, failed or not, had no part in it.
	// [Set.Add] returns it for a term whose MaxHold is over already.
	ErrMaxHold = errors.New("renewal: term was held for its maximum")

	// ErrNotOwner is why a term ended that the store disowned. The cause also wraps Result.Err.
	ErrNotOwner = errors.New("renewal: term is not the owner any more")

	// ErrClosed is returned by [Set.Add] after [Set.Close], and why a term ended that Close ended
	// without a cause of its own.
	ErrClosed = errors.New("renewal: set is closed")
)

// errUnexplained stands in where an ExtendFunc reports a failure without an error, or nothing at
// all for one of its requests.
var errUnexplained = errors.New("renewal: extend failed without an error")

// because wraps what and, if there is one, the error behind it, so that errors.Is finds both.
func because(what, why error) error {
	if why == nil {
		return what
	}
	return fmt.Errorf("%w: %w", what, why)
}
