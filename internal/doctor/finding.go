package doctor

// A Level says how much a [Finding] matters. lock.Level documents the values, which are the same:
// package lock converts them, since users must not see a type of this package.
type Level string

// The levels of findings.
const (
	OK      Level = "ok"
	Advice  Level = "advice"
	Problem Level = "problem"
	Unknown Level = "unknown"
)

// A Finding is one thing that was looked at. lock.Finding has the same fields.
type Finding struct {
	Subject string // what was looked at: "eviction", "right +get"
	Level   Level
	Text    string // what was found, and what that means
	Remedy  string // what to do; "" if there is nothing to do
}
