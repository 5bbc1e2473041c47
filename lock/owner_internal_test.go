package lock

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// A process that is found under our own process id is the old holder only if the lock may be ours.
func TestGoneUnderOurOwnID(t *testing.T) {
	t.Parallel()
	label := fmt.Sprintf("host:%d", os.Getpid())
	id, err := newID(label)
	if err != nil {
		t.Fatal(err)
	}
	ours := parseOwner("job", id, -1).Since
	older := ours.Add(-time.Millisecond)
	var o oldest
	if !o.after(ours) {
		t.Error("a process that has used no id has a lock")
	}
	for _, id := range []string{"mine", "importer/00000000040000000000000000", "host:1000000000/00000000040000000000000000"} {
		o.uses(id) // nobody would take it for ours
	}
	if o.uses(id); o.after(ours) || o.after(ours.Add(time.Hour)) || !o.after(older) {
		t.Error("ours is what is as old as our oldest id, or younger")
	}
	if o.uses(label + "/00000000040000000000000000"); o.after(older) { // of 1970, handed on to us
		t.Error("what we have taken over is not ours")
	}
	if gone(os.Getpid(), ours) || !gone(os.Getpid(), time.UnixMilli(1)) {
		t.Error("not told by what this process has used")
	}
}

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
