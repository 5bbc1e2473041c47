package lock

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/owner"
)

// fuzzNames are names that have something in them which some layer treats specially.
var fuzzNames = []string{
	"reports:nightly", "", " ", "a b", "lock:x", "lock-signal:x", "lock-fence:x", ":", "{tag}:x", "{}", "{",
	"*", "?", "[", "]", "[a]", "[^a]", "^", "-", `\`, `\*`, `\\`, `a\`, "a*b?c[d]e^f\\g", "ü", "\u2028",
	"\x00", "\r\n", "\x7f", "\u0085", "\xff", "a\xc3", strings.Repeat("x", 512), strings.Repeat("x", 513),
	strings.Repeat("ü", 256), strings.Repeat("\xff", 600), "x/kept", "..", "%s", "x:1",
}

// FuzzCheckName checks that those names are refused that the comment says, and that every refusal Is
// ErrInvalid and is one line of text.
func FuzzCheckName(f *testing.F) {
	for _, name := range fuzzNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		good := name != "" && len(name) <= 512 && utf8.ValidString(name) &&
			strings.IndexFunc(name, unicode.IsControl) < 0
		err := checkName(name)
		if (err == nil) != good {
			t.Errorf("%q: %v, want it to be good: %v", name, err, good)
		}
		for _, err := range []error{err, checkOwnLabel(name), checkPrefix(name), checkID(name)} {
			if err == nil {
				continue
			}
			text := err.Error()
			if !errors.Is(err, ErrInvalid) || len(text) > 500 || !utf8.ValidString(text) ||
				strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("the error %q", text)
			}
		}
		if checkID(name) == nil && parseOwner("job", name, 0).Kept {
			t.Errorf("the id %q is taken for one that is kept", name)
		}
	})
}

// FuzzKeys checks that the keys of a name lead back to it, and that two keys are the same only if
// everything about them is: kind, prefix and name.
func FuzzKeys(f *testing.F) {
	for i, name := range fuzzNames {
		f.Add("", name, "app:", fuzzNames[len(fuzzNames)-1-i])
	}
	for _, prefix := range []string{"l", "lo", "lock", "app:lock", "*", "[a]", `\`, "x:"} {
		f.Add(prefix, "ock:x", "", "x")
		f.Add(prefix, "x", prefix+prefix, "x")
	}
	f.Add("lock:", "x", "", "lock:x") // were such prefixes allowed
	f.Add("lock-signal:", "x", "", "lock:x")
	f.Fuzz(func(t *testing.T, prefix1, name1, prefix2, name2 string) {
		if errors.Join(checkPrefix(prefix1), checkPrefix(prefix2), checkName(name1), checkName(name2)) != nil {
			return
		}
		one, two := fuzzSpace(prefix1), fuzzSpace(prefix2)
		for _, k := range []keyspace{
			one, newKeyspace(prefix1, "%s"), newKeyspace(prefix1, "a%sz"), newKeyspace(prefix1, "%s:lock"),
		} {
			if got := k.name(k.lock(name1)); got != name1 {
				t.Errorf("%q: the key %q is of %q, want %q", k, k.lock(name1), got, name1)
			}
		}
		keys1, keys2 := fuzzKeys(one, name1), fuzzKeys(two, name2)
		for i, a := range keys1 {
			for j, b := range keys2 {
				if a == b && (i != j || prefix1 != prefix2 || name1 != name2 && i != inboxKey) {
					t.Errorf("%q is key %d of %q and %q, and key %d of %q and %q",
						a, i, prefix1, name1, j, prefix2, name2)
				}
			}
		}
	})
}

// fuzzSpace is the keyspace of a client with this prefix.
func fuzzSpace(prefix string) keyspace { return (&Options{Prefix: prefix}).keyspace() }

// fuzzKeys returns keys of all kinds. The name is the label in the last one, and nothing in the inbox's.
func fuzzKeys(k keyspace, name string) []string {
	s := &store{keyspace: k, label: name, client: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
	return []string{k.lock(name), k.signal(name), k.fence(name), s.inbox(0), s.waiting(0)}
}

const inboxKey = 3

// FuzzRegisterKey checks that a register's key leads back to whose it is.
func FuzzRegisterKey(f *testing.F) {
	for _, name := range fuzzNames {
		f.Add("app:", name)
		f.Add("", name+"/"+name)
	}
	f.Fuzz(func(t *testing.T, prefix, label string) {
		k := fuzzSpace(prefix)
		_, _, _ = k.registerOf(label) // whatever is found there
		if checkPrefix(prefix) != nil || owner.CheckLabel(label) != nil {
			return
		}
		s := &store{keyspace: k, label: label, client: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
		for _, key := range []string{s.waiting(0), s.waiting(12), strings.TrimSuffix(s.waiting(0), ":0")} {
			gotLabel, client, ok := k.registerOf(key)
			if gotLabel != label || client != s.client || !ok {
				t.Errorf("%q: label %q, client %q, %v", key, gotLabel, client, ok)
			}
		}
	})
}

// FuzzPattern checks that a Filter's Name matches what its comment says, and that a prefix stands for
// itself, by what Redis does with the patterns that are made of them.
func FuzzPattern(f *testing.F) {
	for _, name := range fuzzNames {
		f.Add("", name, name)
		f.Add(name, "*", name)
		f.Add("a*", name+"*", name+"x")
		f.Add("[ab]", "?"+name, "x"+name)
	}
	f.Add("a?", "*", "ab")
	f.Add("a*", "a?", "a*b")
	f.Add("[^b]", "[^b]", "a")
	f.Fuzz(func(t *testing.T, prefix, pattern, name string) {
		if strings.Count(pattern, "*") > 6 {
			return // the simple matchers would take for ever
		}
		k := fuzzSpace(prefix)
		glob, key := k.locks(pattern).pattern, k.lock(name)
		want := pattern == "" || fuzzMatch(pattern, name)
		if got := redisMatch(glob, key); got != want {
			t.Errorf("prefix %q, Name %q, glob %q: matches %q: %v, want %v", prefix, pattern, glob, key, got, want)
		}
		if !redisMatch(escapeGlob(name), name) {
			t.Errorf("%q does not match itself", name)
		}
		if redisMatch(escapeGlob(prefix), name) != (prefix == name) {
			t.Errorf("%q escaped matches %q", prefix, name)
		}
	})
}

// fuzzMatch is what a Filter's Name means: * is any bytes, ? is one, all else is itself.
func fuzzMatch(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return fuzzMatch(pattern[1:], text) || text != "" && fuzzMatch(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && fuzzMatch(pattern[1:], text[1:])
}

// FuzzParseOwner checks that whatever a key holds is taken in, and that nothing of it gets out which
// would allow to release the lock.
func FuzzParseOwner(f *testing.F) {
	const id = "host:1/01ARZ3NDEKTSV4RRFFQ69G5FAV"
	for _, value := range []string{id, id + "/kept", "db3#yTq0w7Zk3A", "yTq0w7Zk3A/kept", "", "\xff" + id} {
		f.Add("job", value, int64(-1))
		f.Add("", value, int64(1000))
	}
	for _, pttl := range []int64{-3, -2, 0, 1, 9223372036854, 9223372036855, 1 << 62, 1<<63 - 1, -1 << 63} {
		f.Add("job", id, pttl)
	}
	f.Fuzz(func(t *testing.T, name, value string, pttl int64) {
		pttl, _ = parsePTTL(pttl)
		o := parseOwner(name, value, pttl)
		if o.Name != name || o.ID != value {
			t.Errorf("%q: %#v", value, o)
		}
		if got := (owner.ID{Label: o.Label, Host: o.Host, PID: o.PID, Since: o.Since, Kept: o.Kept}); got != owner.Parse(value) {
			t.Errorf("%q: %#v, want %#v", value, o, owner.Parse(value))
		}
		if pttl < 0 && o.TTL != NoExpiry || pttl >= 0 && o.TTL < min(time.Duration(pttl), time.Millisecond) {
			t.Errorf("a PTTL of %d ms becomes %v", pttl, o.TTL)
		}
		fuzzDiscreet(t, o)
	})
}

// fuzzDiscreet checks that the random part of an id, the last 16 characters of its ULID, is told by
// nothing but Owner.ID.
func fuzzDiscreet(t *testing.T, o Owner) {
	t.Helper()
	value := strings.TrimSuffix(o.ID, "/kept")
	if len(value) < 26 {
		return
	}
	secret := value[len(value)-16:]
	if strings.Contains(o.Label+"\n"+o.Name, secret) || strings.Contains(fuzzTexts(Owner{Name: o.Name}), secret) {
		return // it is where everybody looks, and so no secret
	}
	if texts := fuzzTexts(o); strings.Contains(texts, secret) {
		t.Errorf("the random part %q is in %q", secret, texts)
	}
}

// fuzzTexts returns all that is told of an owner.
func fuzzTexts(o Owner) string {
	held := &HeldError{Name: o.Name, Owner: o.anonymous(), TTL: o.TTL}
	return fmt.Sprint(o) + o.String() + held.Error() + fmt.Sprintf("%+v %#v %#v", o.anonymous(), o.anonymous(), *held) +
		notOwner(o.Name, o.ID).Error() + lost(o.Name, notOwner(o.Name, o.ID)).Error()
}
