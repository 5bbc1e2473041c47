package owner

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// FuzzChecks checks that every refusal is one short line of text, and that no id that is allowed is
// taken for one that is kept.
func FuzzChecks(f *testing.F) {
	for _, text := range []string{
		"importer", "", " ", "a b", "{tag}:x", "{", "}", "ü", "\u2028", "\x00", "\r\n", "\x7f", "\xff", "x:1",
		strings.Repeat("x", 512), strings.Repeat("x", 513), strings.Repeat("\xff", 600), "x/kept", "/kept", "%s",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, err := range []error{CheckLabel(text), CheckChosenLabel(text), CheckID(text)} {
			if err == nil {
				continue
			}
			if s := err.Error(); len(s) > 500 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
				t.Errorf("the error %q", s)
			}
		}
		if CheckID(text) == nil && Parse(text).Kept {
			t.Errorf("the id %q is taken for one that is kept", text)
		}
		if CheckChosenLabel(text) == nil && CheckLabel(text) != nil {
			t.Errorf("the label %q is good only for a user", text)
		}
	})
}

// FuzzParse checks that whatever a key holds is taken in, and that its parts fit together.
func FuzzParse(f *testing.F) {
	id, err := New("host:1")
	if err != nil {
		f.Fatal(err)
	}
	for _, value := range []string{
		id, id + "/kept", id + "/kept/kept", "/kept", "x/kept", "x" + id, id[1:], id + "x", strings.ToLower(id),
		"/" + id, "host:0" + id[6:], "", "/", "host:1/80000000000000000000000000", id + "/" + id[7:], "\xff" + id,
		"host:1/7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "host:1/0000000000ZZZZZZZZZZZZZZZZ", "db3#yTq0w7Zk3A", "#x", "x#",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := Parse(value)
		if got.Kept != strings.HasSuffix(value, "/kept") {
			t.Errorf("%q: %#v", value, got)
		}
		if (got.Host == "") != (got.PID == 0) || got.PID < 0 || !strings.HasPrefix(got.Label, got.Host) {
			t.Errorf("label %q: host %q, PID %d", got.Label, got.Host, got.PID)
		}
		if got.Label == "" && !got.Since.IsZero() || got.Label != "" && CheckLabel(got.Label) != nil {
			t.Errorf("%q: label %q, since %v", value, got.Label, got.Since)
		}
	})
}

// FuzzNew checks that the ids that are made are read as what they were made of.
func FuzzNew(f *testing.F) {
	for _, label := range []string{
		"host:1", "host:0", ":1", "host:+1", "host:-1", "host:99999999999999999999", "importer on db3", "/", "a/b",
		"/kept", "x/kept", "importer/01ARZ3NDEKTSV4RRFFQ69G5FAV", "~", strings.Repeat("x", 512), DefaultLabel(),
	} {
		f.Add(label)
	}
	f.Fuzz(func(t *testing.T, label string) {
		if CheckLabel(label) != nil {
			return
		}
		before := time.Now().Truncate(time.Millisecond)
		id, err := New(label)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{id, id + KeptSuffix} {
			got := Parse(value)
			host, pid := process(label)
			want := ID{Label: label, Host: host, PID: pid, Since: got.Since, Kept: value != id}
			if got != want || got.Since.Before(before) || got.Since.After(time.Now()) {
				t.Errorf("%#v, want %#v", got, want)
			}
		}
		if again, _ := New(label); again == id {
			t.Errorf("%q twice", id)
		}
	})
}
