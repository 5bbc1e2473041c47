package lock_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// aclDocument is where operators find the rights that the tests go by.
const aclDocument = "../docs/operating.md"

// aclDocumented reads the rules of the document: those that every user needs, and those that are
// added for something else, by what it is.
func aclDocumented(t testing.TB) (minimal []string, more map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(aclDocument)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ACL SETUSER \S+ on >\S+ (.*)$`).FindAllSubmatch(text, -1)
	if len(line) != 1 {
		t.Fatalf("%s has %d lines with ACL SETUSER, want 1", aclDocument, len(line))
	}
	more = map[string][]string{}
	row := regexp.MustCompile("(?m)^\\| `?([^|`]+?)`? \\| `([+~][^`]*)` \\|")
	for _, match := range row.FindAllSubmatch(text, -1) {
		// A bar in a table is escaped.
		more[string(match[1])] = strings.Fields(strings.ReplaceAll(string(match[2]), `\|`, "|"))
	}
	return strings.Fields(string(line[0][1])), more
}

// aclServer is one on which only one user at a time does anything.
func aclServer(t testing.TB) *redistest.Server {
	t.Helper()
	return redistest.Start(t, "appendonly yes") // which Check has an answer to, with appendfsync
}

// TestRights: with the rules of the document everything works, and CLIENT SETNAME is not needed.
func TestRights(t *testing.T) {
	t.Parallel()
	minimal, more := aclDocumented(t)
	s := aclServer(t)
	if !slices.Equal(slices.Sorted(maps.Keys(more)), slices.Sorted(maps.Keys(aclMore))) {
		t.Errorf("the document has rules for %q, want %q",
			slices.Sorted(maps.Keys(more)), slices.Sorted(maps.Keys(aclMore)))
	}
	try := func(what string, rules []string, does func(*aclCase) error) {
		t.Run(what, func(t *testing.T) {
			s.Do(t, "SCRIPT", "FLUSH")
			a := newACLCase(t, s, rules)
			if err := does(a); err != nil {
				t.Error(err)
			}
			if a.refused() && what != "Check" { // which asks for more than it needs
				t.Errorf("denied: %q", a.denials())
			}
		})
	}
	for what, does := range aclBasics {
		try(what, minimal, does)
	}
	for what, does := range aclMore {
		try(what, slices.Concat(minimal, more[what]), does)
	}
}

// TestMissingRight takes each right of the document away in turn. What then fails is in the table; a
// right without which everything works has no place in the document.
func TestMissingRight(t *testing.T) {
	t.Parallel()
	fails := map[string]string{
		"~lock:*":         "take",
		"~lock-signal:*":  "take", // its release
		"~lock-fence:*":   "take",
		"~lock-inbox:*":   "wait",
		"~lock-waiting:*": "wait",
		"+eval":           "take",
		"+evalsha":        "take",
		"+get":            "take",
		"+set":            "take",
		"+time":           "take",
		"+del":            "take", // its release
		"+pttl":           "be refused",
		"+pexpire":        "renew",
		"+lrem":           "hear of a loss",
		"+llen":           "leave a signal",
		"+lpush":          "leave a signal",
		"+exists":         "give a signal back",
		"+type":           "show who waits", // nobody looks
		"+blpop":          "wait",           // it is degraded
		"+hset":           "show who waits",
	}
	minimal, more := aclDocumented(t)
	s := aclServer(t)
	without := func(right string, rules []string, what string, does func(*aclCase) error) {
		t.Run(what+" without "+right, func(t *testing.T) {
			if does == nil {
				t.Fatalf("%s is in %s, and nothing is known to need it", right, aclDocument)
			}
			s.Do(t, "SCRIPT", "FLUSH")
			a := newACLCase(t, s, slices.DeleteFunc(slices.Clone(rules), func(r string) bool {
				return r == right
			}))
			err := does(a)
			if err == nil {
				t.Errorf("works without %s", right)
			}
			t.Log(err)
			named := func(denied string) bool {
				return strings.HasPrefix(denied, strings.Trim(right, "~+*"))
			}
			if denied := a.denials(); !slices.ContainsFunc(denied, named) {
				t.Errorf("denied was %q, not what needs %s", denied, right)
			}
		})
	}
	for _, right := range minimal {
		without(right, minimal, fails[right], aclBasics[fails[right]])
	}
	for what, rules := range more {
		for _, right := range rules {
			without(right, slices.Concat(minimal, rules), what, aclMore[what])
		}
	}
}

// TestLoadedScripts: who may use EVALSHA only needs scripts that somebody else has loaded, and is lost
// when Redis forgets them.
func TestLoadedScripts(t *testing.T) {
	t.Parallel()
	minimal, _ := aclDocumented(t)
	rules := slices.DeleteFunc(minimal, func(r string) bool { return r == "+eval" })
	s := aclServer(t)
	for _, script := range scripts.All() {
		s.Do(t, "SCRIPT", "LOAD", script.Source)
	}
	for _, does := range aclBasics {
		if err := does(newACLCase(t, s, rules)); err != nil {
			t.Error(err)
		}
	}
	s.Do(t, "SCRIPT", "FLUSH")
	if err := aclTakes(newACLCase(t, s, rules)); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("after SCRIPT FLUSH: %v, want NOPERM", err)
	}
}
