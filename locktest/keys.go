package locktest

import (
	"cmp"
	"strings"
)

const defaultFormat = "lock:%s"

// A keyspace says how a client's locks are called in Redis: its lock.Options.Prefix and KeyFormat.
type keyspace struct{ prefix, format string }

func keyspaceOf(prefix, format string) keyspace {
	return keyspace{prefix, cmp.Or(format, defaultFormat)}
}

func (k keyspace) lock(name string) string {
	return k.prefix + strings.Replace(k.format, "%s", name, 1)
}

func (k keyspace) signal(name string) string { return k.prefix + "lock-signal:" + k.beside(name) }
func (k keyspace) fence(name string) string  { return k.prefix + "lock-fence:" + k.beside(name) }

// beside is what a lock is called in the keys beside its own.
func (k keyspace) beside(name string) string {
	if k.format == defaultFormat {
		return name
	}
	return "%" + strings.Replace(k.format, "%s", name, 1)
}
