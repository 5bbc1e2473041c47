package owner

import (
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// An ID is what can be told of a lock's value. The zero ID is that of another program's value, of
// which nothing is known.
type ID struct {
	Label string    // "" for an id without one
	Host  string    // from a label of the form hostname:pid
	PID   int       // likewise
	Since time.Time // by the owner's clock, in milliseconds; zero for an id without a ULID
	Kept  bool      // the value ends in KeptSuffix
}

// Parse takes in what a lock's key holds. No value is refused, and nothing of the ID that it
// returns allows to release the lock.
func Parse(value string) ID {
	var id ID
	value, id.Kept = strings.CutSuffix(value, KeptSuffix)
	id.Label, id.Since = split(value)
	id.Host, id.PID = process(id.Label)
	return id
}

// Ours reports whether the id is one that [New] makes.
func (id ID) Ours() bool { return !id.Since.IsZero() }

// String returns who it is and since when, without the random part of the id.
func (id ID) String() string {
	who := "an owner with an id of its own choice"
	switch {
	case id.Ours():
		who = fmt.Sprintf("%s since %s", id.Label, id.Since.Format(time.RFC3339))
	case id.Label != "":
		who = id.Label + ", under an id of its own"
	}
	if id.Kept {
		who += " (not held: blocked, or kept for its minimum after the release)"
	}
	return who
}

// split returns the label of an id, "" for none, and since when it is, zero if it does not say.
func split(id string) (label string, since time.Time) {
	slash := len(id) - ulid.EncodedSize - 1
	if slash < 1 || id[slash] != '/' || CheckLabel(id[:slash]) != nil {
		return chosenLabel(id), since
	}
	u, err := ulid.ParseStrict(id[slash+1:])
	if err != nil {
		return chosenLabel(id), since
	}
	return id[:slash], ulid.Time(u.Time())
}

// chosenLabel returns the part of a chosen id that is no secret. The random ids of other programs
// are in base64, in hex or UUIDs. None of these has a #, while base64 has the slash.
func chosenLabel(id string) string {
	mark := strings.LastIndexByte(id, '#')
	if mark < 1 || mark == len(id)-1 || CheckLabel(id[:mark]) != nil {
		return ""
	}
	return id[:mark]
}
