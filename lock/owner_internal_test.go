package lock

import (
	"testing"
	"time"
)

// What an owner is called says no more than is known.
func TestOwnerTexts(t *testing.T) {
	t.Parallel()
	const id = "importer/01ARZ3NDEKTSV4RRFFQ69G5FAV"
	since := parseOwner("job", id, 1).Since.Format(time.RFC3339)
	for value, want := range map[string]string{
		id:               "importer since " + since,
		id + "/kept":     "importer since " + since + " (not held: blocked, or kept for its minimum after the release)",
		"YWJjZGVm":       "an owner with an id of its own choice",
		"db3#yTq0w7Zk3A": "db3, under an id of its own",
	} {
		if got := parseOwner("job", value, 1).String(); got != want {
			t.Errorf("%q is called %q, want %q", value, got, want)
		}
	}
}
