package owner

import (
	"crypto/rand"
	"fmt"

	"github.com/oklog/ulid/v2"
)

// New returns an id with this label for one acquire, and takes note of it as [Uses] does.
//
// Whoever guesses an id can release the lock. So its randomness is the system's: [ulid.Make] takes
// it from a generator that is seeded with the time.
func New(label string) (string, error) {
	id, err := ulid.New(ulid.Now(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("no randomness for an owner id: %w", err)
	}
	whole := label + "/" + id.String()
	Uses(whole)
	return whole, nil
}
