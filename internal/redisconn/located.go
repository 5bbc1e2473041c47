package redisconn

import (
	"errors"
	"io"
	"strings"
)

// A located error is one of a connection, or a reply, with the server that it is about.
type located struct {
	where string // "redis at host:port"
	hint  string // what to do about it; "" if that is not known
	err   error
}

func (e *located) Error() string {
	text := strings.TrimPrefix(e.err.Error(), "dial tcp "+strings.TrimPrefix(e.where, whereBefore)+": ")
	text = e.where + ": " + text
	if e.hint != "" {
		text += " (" + e.hint + ")"
	}
	return text
}

func (e *located) Unwrap() error { return e.err }

const whereBefore = "redis at "

// at returns err with the server that it is about, unless that is not known, or in err already.
func at(where string, err error) error {
	var known *located
	if err == nil || where == "" || errors.As(err, &known) {
		return err
	}
	e := &located{where: where, err: err}
	if HasCode(err, "READONLY") {
		e.hint = "it is a replica: dial the master"
	}
	return e
}

// The hints about TLS.
const (
	wantsTLS  = "does it expect TLS?"
	speaksTLS = "does it speak TLS?"
)

// hinted returns err with a hint, if it has its address and no hint yet.
func hinted(err error, hint string) error {
	var e *located
	if errors.As(err, &e) && e.hint == "" {
		e.hint = hint
	}
	return err
}

// closedOn reports whether an error says that the other side closed the connection.
func closedOn(err error) bool {
	return errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "connection reset")
}
