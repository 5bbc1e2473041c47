package doctor

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/store"
)

// A user whose rights differ from key to key: a command that works elsewhere is refused on keys of
// one kind, and the finding is theirs.
func TestRightsOfKeys(t *testing.T) {
	t.Parallel()
	probed := map[string]store.Probed{}
	for _, kind := range store.Kinds {
		all := store.Probed{Refusals: map[string]string{}}
		for _, command := range store.Tries {
			all.Refusals[command] = ""
		}
		probed[kind] = all
	}
	probed[store.KindSignal].Refusals["LPUSH"] = "NOPERM ACL failure in script: No permissions to access a key"
	x := &examination{probed: probed}
	for rule, want := range map[string]store.Verdict{
		"~lock-signal:*": store.Missing, "~lock:*": store.Present, "~lock-inbox:*": store.Present,
		"+lpush": store.Present,
	} {
		if got, why := x.verdict(rule); got != want {
			t.Errorf("%s: %v (%s), want %v", rule, got, why, want)
		}
	}
	probed[store.KindFence] = store.Probed{Err: store.ErrReply}
	if got, why := x.verdict("~lock-fence:*"); got != store.Undecided || why == "" {
		t.Errorf("a reply of another form: %v (%s)", got, why)
	}
}
