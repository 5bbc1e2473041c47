package lock

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Limits of what users may ask for.
const (
	maxName = 512
	minTTL  = 50 * time.Millisecond
	maxTTL  = engine.MaxTTL
	// maxTTLText is how errors call maxTTL, which would print as hours.
	maxTTLText = engine.MaxTTLText
)

// checkName refuses names that are empty, too long or not printable text.
func checkName(name string) error {
	switch {
	case name == "":
		return invalid("the name is empty: give the lock a name, such as \"reports:nightly\"")
	case len(name) > maxName:
		return invalid("the name %.20q… has %d bytes: at most %d are allowed; use a hash of it",
			name, len(name), maxName)
	case !utf8.ValidString(name):
		return invalid("the name %.40q is not valid UTF-8: encode it, for example in base64", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return invalid("the name %.40q has control characters: leave them out", name)
	}
	return nil
}

// checkOwnLabel checks a label that a user chose.
func checkOwnLabel(label string) error {
	if err := owner.CheckChosenLabel(label); err != nil {
		return invalid("%w", err)
	}
	return nil
}

// checkPrefix refuses prefixes under which keys could be taken for other keys of holdfast.
func checkPrefix(prefix string) error {
	switch {
	case prefix == "":
		return nil
	case strings.Contains(prefix, "lock:") || strings.Contains(prefix, "lock-"):
		return invalid("the prefix %.40q contains \"lock:\" or \"lock-\", as holdfast's own"+
			" keys do: choose another, such as \"app:\"", prefix)
	}
	if err := checkName(prefix); err != nil {
		return invalid("the prefix is no better than a bad name: %w", err)
	}
	return nil
}

// checkKeyFormat refuses formats that make no keys, or keys that are holdfast's own already.
func checkKeyFormat(format string) error {
	before, after, ok := strings.Cut(format, "%s")
	switch {
	case !ok || strings.Contains(before+after, "%"):
		return invalid("the KeyFormat %.40q must have %%s once, for the name, and no other %%", format)
	case strings.HasPrefix(before, "lock-"):
		return invalid("the KeyFormat %.40q begins with \"lock-\", as holdfast's own keys do: choose another",
			format)
	}
	if err := checkName(format); err != nil {
		return invalid("the KeyFormat is no better than a bad name: %w", err)
	}
	return nil
}

// checkTTL refuses TTLs that are too short to be renewed in time or too long to be meant.
func checkTTL(ttl time.Duration) error {
	if ttl == NoExpiry {
		return invalid("a lease cannot be extended to NoExpiry: take the lock with that TTL")
	}
	if ttl < minTTL || ttl > maxTTL {
		return invalid("the TTL %v is out of range: give %v to %s", ttl, minTTL, maxTTLText)
	}
	return nil
}

// checkMargin refuses a margin that leaves nothing of the TTL.
func checkMargin(margin, ttl time.Duration) error {
	switch {
	case margin < 0:
		return invalid("the margin %v is negative: give the time that your job needs to stop", margin)
	case margin >= ttl:
		return invalid("the margin %v leaves nothing of the TTL %v: give a shorter margin or a longer TTL",
			margin, ttl)
	}
	return nil
}

// checkHolds refuses limits of the time that a lock is held which contradict each other.
func checkHolds(most, least time.Duration) error {
	switch {
	case most != 0 && most < minTTL:
		return invalid("MaxHold %v is out of range: give at least %v, or 0 for no limit", most, minTTL)
	case least < 0 || least > maxTTL:
		return invalid("HoldAtLeast %v is out of range: give up to %s, or 0 for none", least, maxTTLText)
	case most != 0 && most < least:
		return invalid("MaxHold %v is shorter than HoldAtLeast %v: raise the one or lower the other",
			most, least)
	}
	return nil
}

// defaultSignalTTL is what python-redis-lock gives its signals.
const defaultSignalTTL = time.Second

// checkSignalTTL refuses signals that would expire before a waiter can come, or never.
func checkSignalTTL(ttl time.Duration) error {
	if ttl < minTTL || ttl > maxTTL {
		return invalid("SignalTTL %v is out of range: give %v to %s, or 0 for the default of %v",
			ttl, minTTL, maxTTLText, defaultSignalTTL)
	}
	return nil
}

// checkID refuses owner ids that other programs could not release, or that holdfast could not tell
// from those of locks that are only kept.
func checkID(id string) error {
	if err := owner.CheckID(id); err != nil {
		return invalid("%w", err)
	}
	return nil
}

// reserved refuses names under which the waiters of something else wait.
func reserved(name string) error {
	if of := store.Reserved(name); of != "" {
		return invalid("the name %.40q is what waiters for the pool %.40q wait for: choose another", name, of)
	}
	return nil
}
