package parrot

import "strings"

// Names are names that have something in them which some layer treats specially.
var Names = []string{
	"reports:nightly", "", " ", "a b", "lock:x", "lock-signal:x", "lock-fence:x", ":", "{tag}:x", "{}", "{",
	"*", "?", "[", "]", "[a]", "[^a]", "^", "-", `\`, `\*`, `\\`, `a\`, "a*b?c[d]e^f\\g", "ü", "\u2028",
	"\x00", "\r\n", "\x7f", "\u0085", "\xff", "a\xc3", strings.Repeat("x", 512), strings.Repeat("x", 513),
	strings.Repeat("ü", 256), strings.Repeat("\xff", 600), "x/kept", "..", "%s", "x:1",
}
