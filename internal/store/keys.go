package store

import (
	"fmt"
	"strings"
)

// What keys begin with, behind the prefix, by their kinds. Other programs, other clients and the
// rules of access control go by them: they cannot be changed.
const (
	KindLock    = "lock:"
	KindSignal  = "lock-signal:"
	KindFence   = "lock-fence:"
	KindInbox   = "lock-inbox:"
	KindWaiting = "lock-waiting:"
	KindPool    = "lock-pool:"
	KindNumber  = "lock-reg:"
)

// own is what every key of holdfast's begins with that is no lock.
const own = "lock-"

// A Keyspace knows what things are called in Redis.
type Keyspace struct {
	Prefix        string
	before, after string // of a lock's name, in its key: the two parts of the format
	// mark and tail stand around the name in the keys beside it. Under a format of one's own they
	// make it the lock's key behind a percent sign. So the locks of one name in two formats share
	// nothing.
	mark, tail string
}

// DefaultFormat is what the key of a lock is made by, unless the user says otherwise.
// python-redis-lock has the same.
const DefaultFormat = KindLock + "%s"

// NewKeyspace returns the names of things under a prefix, where a lock's key is made from its name
// by a format with one %s.
func NewKeyspace(prefix, format string) Keyspace {
	k := Keyspace{Prefix: prefix}
	k.before, k.after, _ = strings.Cut(format, "%s")
	if k.before != KindLock || k.after != "" {
		k.mark, k.tail = "%"+k.before, k.after
	}
	return k
}

// LockKey returns the key of the lock of a name.
func (k Keyspace) LockKey(name string) string { return k.Prefix + k.before + name + k.after }

func (k Keyspace) fenceKey(name string) string  { return k.Beside(KindFence, name) }
func (k Keyspace) signalKey(name string) string { return k.Beside(KindSignal, name) }

// Beside returns the key of this kind that belongs to the lock of a name: another one for each
// format.
func (k Keyspace) Beside(kind, name string) string { return k.Prefix + kind + k.mark + name + k.tail }

// Name returns the name of the lock that a key is. What a scan finds may be another program's key:
// that has a name then under which the key is asked for again.
func (k Keyspace) Name(key string) string {
	return strings.TrimSuffix(strings.TrimPrefix(key, k.Prefix+k.before), k.after)
}

// Collides reports whether the key of a lock of this name would begin as other keys of holdfast's
// do. Under the default format none does. Under another one the name may begin with what those keys
// begin with.
func (k Keyspace) Collides(name string) bool {
	key := strings.TrimPrefix(k.LockKey(name), k.Prefix)
	return k.before != KindLock && strings.HasPrefix(key, KindLock) || strings.HasPrefix(key, own)
}

// Apart reports whether the keys of locks begin with something that tells them from other keys.
func (k Keyspace) Apart() bool { return k.Prefix+k.before != "" }

// Tagged reports whether the prefix has a hash tag, which puts all keys into one slot of a Redis
// Cluster. The tag is what stands between the first { and the first } behind it. If that is nothing
// there is no tag.
func (k Keyspace) Tagged() bool {
	_, rest, _ := strings.Cut(k.Prefix, "{")
	return strings.Index(rest, "}") > 0
}

// Pattern returns what the keys of a kind are like, in the words of Redis's access control. For all
// but locks it covers every format, as that is part of what stands for *.
func (k Keyspace) Pattern(kind string) string {
	if kind == KindLock {
		return k.Locks("").pattern
	}
	return escapeGlob(k.Prefix+kind) + "*"
}

// Like says which keys a scan returns: those that match the pattern and are of the type.
type Like struct{ pattern, kind string }

// Locks are the locks whose names match a pattern, in which * stands for any bytes and ? for one.
func (k Keyspace) Locks(pattern string) Like {
	return Like{escapeGlob(k.Prefix+k.before) + namePattern(pattern) + escapeGlob(k.after), "string"}
}

// Registers are the hashes that say for what clients wait.
func (k Keyspace) Registers() Like {
	return Like{escapeGlob(k.Prefix) + KindWaiting + "*", "hash"}
}

// inboxKey is the key on which the wait connection of this number can be called back.
func (k Keyspace) inboxKey(client string, number int) string {
	return fmt.Sprintf("%s%s%s:%d", k.Prefix, KindInbox, client, number)
}

// registerKey is the key of the hash that says what is waited for on the wait connection of this
// number.
func (k Keyspace) registerKey(label, client string, number int) string {
	return fmt.Sprintf("%s%s%s/%s:%d", k.Prefix, KindWaiting, label, client, number)
}

// escapeGlob makes a text mean itself in a pattern of Redis's. Names may have any of these bytes.
func escapeGlob(text string) string { return globSpecials.Replace(text) }

var globSpecials = strings.NewReplacer(
	`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`)

// namePattern is a pattern of ours, in which only * and ? are special, in Redis's terms.
func namePattern(pattern string) string {
	if pattern == "" {
		return "*"
	}
	return strings.NewReplacer(`\*`, `*`, `\?`, `?`).Replace(escapeGlob(pattern))
}
