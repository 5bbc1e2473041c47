package redisconn

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	"github.com/gomodule/redigo/redis"
)

// A Class says what an error means for the next attempt.
type Class int

// The classes of errors.
const (
	// Permanent: trying again cannot help until somebody changes something.
	Permanent Class = iota
	// Passing: Redis is in a state that may pass; the command was not executed.
	Passing
	// Moved: as Passing, but this server may stay so (a demoted master, say): the connection is
	// given up, so that the dialer finds the right one.
	Moved
	// NoScript: EVALSHA named a script that Redis does not have; EVAL brings it.
	NoScript
	// Broken: the connection failed; whether the command was executed is not known.
	Broken
)

// codes are the words with which Redis begins an error. Inside scripts and behind proxies they
// stand anywhere in the text.
var codes = map[string]Class{
	"READONLY":    Moved, // a replica, or a demoted master
	"UNBLOCKED":   Moved, // a blocked client's master became a replica
	"MASTERDOWN":  Moved, // a replica cut off from its master
	"CLUSTERDOWN": Moved,
	"MOVED":       Moved,
	"ASK":         Moved,
	"LOADING":     Moved, // Redis reads its data set after a start

	"BUSY":       Passing, // a script runs for too long
	"MISCONF":    Passing, // snapshots fail
	"NOREPLICAS": Passing,
	"OOM":        Passing,
	"TRYAGAIN":   Passing,

	"NOSCRIPT": NoScript,

	"NOAUTH":    Permanent,
	"WRONGPASS": Permanent,
	"NOPERM":    Permanent,
	"WRONGTYPE": Permanent,
	"CROSSSLOT": Permanent,
	"DENIED":    Permanent, // protected mode
	"NOPROTO":   Permanent,
}

// sentences are errors that Redis begins with a bare ERR, in lower case. They are looked for before
// the codes, because they quote what the client sent, or the user's name.
var sentences = []struct {
	text  string
	class Class
}{
	{"unknown command", Permanent},
	{"unknown subcommand", Permanent},
	{"wrong number of arguments", Permanent},
	{"can't run this command", Permanent}, // an ACL's refusal inside a script
	{"no permissions to", Permanent},      // the same, from Redis 7.2 on
	{"max number of clients", Moved},
}

// Classify says what err, which is not nil, means for the next attempt. What is not an error reply
// of Redis is a broken connection. A reply that is not known is permanent.
func Classify(err error) Class {
	class, _ := classOf(err)
	return class
}

// Kind returns what err, which is not nil, has in common with others of its cause. That is the code
// of an error reply, or one of two words: for replies without a code, and for what is no reply.
func Kind(err error) string {
	class, code := classOf(err)
	switch {
	case class == Broken:
		return "broken"
	case code == "":
		return "refused"
	}
	return code
}

// HasCode reports whether err is an error reply of Redis that carries the code, wherever in the
// text it stands.
func HasCode(err error, code string) bool {
	_, found := classOf(err)
	return found == code
}

// BlockingRefused reports whether Redis, or a proxy before it, refused BLPOP as a command: waiting
// is possible without it.
func BlockingRefused(err error) bool {
	reply, _ := refusal(err)
	text := strings.ToLower(string(reply))
	if _, what, ok := strings.Cut(text, "unknown command"); ok {
		// What follows is the command's name in quotes of some kind, and then its arguments.
		what = strings.TrimLeft(what, " :'`\"")
		return what == "" || strings.HasPrefix(what, "blpop")
	}
	return strings.Contains(text, "noperm") && strings.Contains(text, "run the 'blpop'")
}

// refusal returns the error reply that err is or wraps; ok is false if err is none.
func refusal(err error) (reply redis.Error, ok bool) {
	ok = errors.As(err, &reply)
	return reply, ok
}

// classOf returns the class of an error and the code that told it; "" if none did.
func classOf(err error) (Class, string) {
	reply, ok := refusal(err)
	if !ok {
		return Broken, ""
	}
	text := string(reply)
	first, _, _ := strings.Cut(text, " ")
	if class, ok := codes[first]; ok {
		return class, first
	}
	lower := strings.ToLower(text)
	for _, s := range sentences {
		if strings.Contains(lower, s.text) {
			return s.class, ""
		}
	}
	for _, word := range strings.FieldsFunc(quoted.ReplaceAllString(text, " "), notInCode) {
		if class, ok := codes[word]; ok {
			return class, word
		}
	}
	return Permanent, ""
}

// quoted is what the server quotes of the client's: it means nothing, whatever it looks like.
var quoted = regexp.MustCompile("(^|[\\s(])('[^']*'|`[^`]*`|\"[^\"]*\")")

func notInCode(r rune) bool { return !unicode.IsUpper(r) && !unicode.IsLower(r) && r != '_' }
