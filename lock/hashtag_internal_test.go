package lock

import "testing"

// A hash tag is what stands between the first { and the first } behind it, if that is not nothing.
func TestHasTag(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]bool{
		"": false, "app:": false, "{app}:": true, "a{b}": true, "{}x": false, "{}{b}": false,
		"{app": false, "}{": false, "{{}": true,
	} {
		if got := hasTag(prefix); got != want {
			t.Errorf("%q: %v, want %v", prefix, got, want)
		}
	}
}
