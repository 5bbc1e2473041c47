package store

import (
	"errors"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// A Verdict says whether the user has a right.
type Verdict int

const (
	// Undecided: what came back says nothing of rights.
	Undecided Verdict = iota
	// Present: the user has it.
	Present
	// Missing: the user does not, or the server does not know the command.
	Missing
)

// Judge says what came of a harmless command means for the right to send it: nil is that it worked.
// A script that Redis does not know was not refused: who may not run scripts is told that first.
func Judge(err error) Verdict {
	var refused redis.Error
	switch {
	case err == nil, NoScript(err):
		return Present
	case !errors.As(err, &refused):
		return Undecided
	}
	return JudgeText(string(refused))
}

// JudgeText is [Judge] for what Redis said: "" is that it worked.
func JudgeText(said string) Verdict {
	switch {
	case said == "":
		return Present
	case Denied(said), UnknownCommand(said):
		return Missing
	}
	return Undecided
}

// Denied reports whether what Redis said is an ACL's refusal. A rule helps then. Inside scripts
// that has no code before Redis 7.2.
func Denied(said string) bool {
	return contains(said, "noperm", "no permissions to", "can't run this command",
		"can't access at least one")
}

// UnknownCommand reports whether Redis said that a command was renamed, or never was there. No
// right helps then. The third text is what a script is told.
func UnknownCommand(said string) bool {
	return contains(said, "unknown command", "unknown subcommand", "unknown redis command")
}

// contains looks for any of some texts, which are in lower case.
func contains(text string, any ...string) bool {
	text = strings.ToLower(text)
	for _, one := range any {
		if strings.Contains(text, one) {
			return true
		}
	}
	return false
}
