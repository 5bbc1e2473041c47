package owner

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// KeptSuffix ends the value of a lock that nobody holds and nobody gets yet. It was released before
// its minimum was over, or it is blocked. What stands before is an id.
const KeptSuffix = "/kept"

// longest is how long a label or an id may be, in bytes.
const longest = 512

// CheckLabel refuses labels that could not be told from the rest of an id, or that other programs
// cannot show.
func CheckLabel(label string) error {
	switch {
	case label == "":
		return errors.New("the label is empty")
	case len(label) > longest:
		return fmt.Errorf("the label %.20q… has %d bytes: at most %d are allowed",
			label, len(label), longest)
	case strings.ContainsFunc(label, notPrintable):
		return fmt.Errorf("the label %.40q must be printable ASCII: leave the other characters out", label)
	case strings.ContainsAny(label, "{}"):
		return fmt.Errorf("the label %.40q has braces, which choose the slot in Redis Cluster:"+
			" leave them out", label)
	}
	return nil
}

// likeDefault is what ends the label of a process.
var likeDefault = regexp.MustCompile(`:[0-9]+$`)

// CheckChosenLabel checks a label that a user chose. It refuses what CheckLabel refuses, and labels
// of the form hostname:pid, which are those of processes.
func CheckChosenLabel(label string) error {
	if err := CheckLabel(label); err != nil {
		return err
	}
	if likeDefault.MatchString(label) {
		return fmt.Errorf("the label %.40q ends in a colon and a number, as the default hostname:pid does:"+
			" a clean-up of dead processes would take it for one; leave the number out", label)
	}
	return nil
}

// CheckID refuses chosen ids that other programs could not release, or that could not be told from
// those of locks that are only kept.
func CheckID(id string) error {
	switch {
	case id == "":
		return errors.New("the id is empty: give the one under which the lock is held")
	case len(id) > longest:
		return fmt.Errorf("the id has %d bytes: at most %d are allowed", len(id), longest)
	case strings.ContainsFunc(id, notPrintable):
		return errors.New("the id must be printable ASCII: leave the other characters out")
	case strings.HasSuffix(id, KeptSuffix):
		return fmt.Errorf("the id ends in %q, which marks locks that are kept after their release:"+
			" choose another ending", KeptSuffix)
	}
	return nil
}

// notPrintable reports whether a character would have to be escaped somewhere: in a terminal, in
// CLIENT LIST, or in another program's log.
func notPrintable(r rune) bool { return r < ' ' || r > '~' }
