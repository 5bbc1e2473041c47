package lock

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testing/parrot"
)

// FuzzCheckName checks that those names are refused that the comment says, and that every refusal Is
// ErrInvalid and is one line of text.
func FuzzCheckName(f *testing.F) {
	for _, name := range parrot.Names {
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
		if checkID(name) == nil && ownerOf("job", &store.Held{Owner: name}).Kept {
			t.Errorf("the id %q is taken for one that is kept", name)
		}
		// The store's FuzzKeys relies on this.
		if checkPrefix(name) == nil && (strings.Contains(name, "lock:") || strings.Contains(name, "lock-")) {
			t.Errorf("the prefix %q is allowed", name)
		}
	})
}
