package store

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/testing/parrot"
)

// FuzzKeys checks that the keys of a name lead back to it, and that two keys are the same only if
// everything about them is: kind, prefix and name.
func FuzzKeys(f *testing.F) {
	for i, name := range parrot.Names {
		f.Add("", name, "app:", parrot.Names[len(parrot.Names)-1-i])
		f.Add("app:", name, "app:", name)
	}
	for _, prefix := range []string{"l", "lo", "lock", "app:lock", "*", "[a]", `\`, "x:"} {
		f.Add(prefix, "ock:x", "", "x")
		f.Add(prefix, "x", prefix+prefix, "x")
	}
	f.Add("", "x", "", fuzzClient+":0")
	f.Add("lock:", "x", "", "lock:x") // were such prefixes allowed
	f.Add("lock-signal:", "x", "", "lock:x")
	f.Fuzz(func(t *testing.T, prefix1, name1, prefix2, name2 string) {
		if !fuzzPrefix(prefix1) || !fuzzPrefix(prefix2) {
			return
		}
		one, two := fuzzSpace(prefix1), fuzzSpace(prefix2)
		for _, k := range []Keyspace{
			one, NewKeyspace(prefix1, "%s"), NewKeyspace(prefix1, "a%sz"), NewKeyspace(prefix1, "%s:lock"),
		} {
			if got := k.Name(k.LockKey(name1)); got != name1 {
				t.Errorf("%q: the key %q is of %q, want %q", k, k.LockKey(name1), got, name1)
			}
		}
		keys1, keys2 := fuzzKeys(one, name1), fuzzKeys(two, name2)
		for i, a := range keys1 {
			for j, b := range keys2 {
				if a == b && (i != j || prefix1 != prefix2 || name1 != name2 && i != inboxAt) {
					t.Errorf("%q is key %d of %q and %q, and key %d of %q and %q",
						a, i, prefix1, name1, j, prefix2, name2)
				}
			}
		}
	})
}

// fuzzPrefix reports whether a prefix is one that lock allows: FuzzCheckName there checks that no
// other is.
func fuzzPrefix(prefix string) bool {
	return !strings.Contains(prefix, KindLock) && !strings.Contains(prefix, own)
}

// fuzzSpace is the keyspace of a client with this prefix.
func fuzzSpace(prefix string) Keyspace { return NewKeyspace(prefix, DefaultFormat) }

const fuzzClient = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// fuzzKeys returns keys of all kinds. The name is the label in the last one, and nothing in the
// inbox's.
func fuzzKeys(k Keyspace, name string) []string {
	return []string{
		k.LockKey(name), k.signalKey(name), k.fenceKey(name), k.inboxKey(fuzzClient, 0),
		k.registerKey(name, fuzzClient, 0),
	}
}

const inboxAt = 3

// FuzzRegisterKey checks that a register's key leads back to whose it is.
func FuzzRegisterKey(f *testing.F) {
	for _, name := range parrot.Names {
		f.Add("app:", name)
		f.Add("", name+"/"+name)
	}
	f.Fuzz(func(t *testing.T, prefix, label string) {
		k := fuzzSpace(prefix)
		_, _, _ = k.RegisterOf(label) // whatever is found there
		if !fuzzPrefix(prefix) || owner.CheckLabel(label) != nil {
			return
		}
		first := k.registerKey(label, fuzzClient, 0)
		for _, key := range []string{first, k.registerKey(label, fuzzClient, 12), strings.TrimSuffix(first, ":0")} {
			gotLabel, client, ok := k.RegisterOf(key)
			if gotLabel != label || client != fuzzClient || !ok {
				t.Errorf("%q: label %q, client %q, %v", key, gotLabel, client, ok)
			}
		}
	})
}

// A hash tag is what stands between the first { and the first } behind it, if that is not nothing.
func TestHasTag(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]bool{
		"": false, "app:": false, "{app}:": true, "a{b}": true, "{}x": false, "{}{b}": false,
		"{app": false, "}{": false, "{{}": true,
	} {
		if got := fuzzSpace(prefix).Tagged(); got != want {
			t.Errorf("%q: %v, want %v", prefix, got, want)
		}
	}
}
