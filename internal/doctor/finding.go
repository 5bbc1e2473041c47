package doctor

// A Level says how much a [Finding] matters. lock.Level documents the values.
type Level int

// The levels of findings.
const (
	OK Level = iota
	Advice
	Problem
	Unknown
)

// A Finding is one thing that was looked at.
type Finding struct {
	Subject string // what was looked at: "eviction", "right +get"
	Level   Level
	Text    string // what was found, and what that means
	Remedy  string // what to do; "" if there is nothing to do
}
