package locktest

import (
	"cmp"
	"strings"
)

const defaultFormat = "lock:%s"

// A keyspace is how a client's locks are called in Redis: its lock.Options.Prefix and KeyFormat.
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

// keys returns how the locks are called that Expire and Steal are for, and ends the test if that is not
// clear: a fault that hits another key than the program's would look like a program that copes with it.
func (s *Server) keys() keyspace {
	s.t.Helper()
	set := keyspaceOf(s.Prefix, s.KeyFormat)
	if strings.Count(set.format, "%s") != 1 {
		s.t.Fatalf("locktest: the KeyFormat %q of the Server must have %%s once, for the name", s.KeyFormat)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.Prefix != "" || s.KeyFormat != "" || len(s.seen) == 0:
		return set
	case len(s.seen) > 1:
		s.t.Fatalf("locktest: the server has clients with different Options.Prefix or KeyFormat, whose locks" +
			" of one name are not the same: set Prefix or KeyFormat of the Server to those that are meant")
	}
	return s.seen[0]
}
