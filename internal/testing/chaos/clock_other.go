//go:build !linux

package chaos

import (
	"errors"
	"time"
)

// monotonic says that there is no clock that is known to be shared with other processes: then none are
// started.
func monotonic() (since time.Duration, ok bool) { return 0, false }

func strike(int, string) error { return errors.ErrUnsupported }
