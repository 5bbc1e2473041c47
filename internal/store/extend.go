package store

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// A Verb says what an [Extension] does with the TTL, in the script's words.
type Verb string

const (
	// Prolong brings it to TTL, and never shortens it.
	Prolong Verb = "to"
	// Cut brings it to TTL, unless it is between that and Above.
	Cut Verb = "cut"
	// AddTime adds TTL to it. It is not sent again if its outcome is unknown.
	AddTime Verb = "by"
	// Persist takes it away: the holding stays for ever.
	Persist Verb = "persist"
	// Check leaves it as it is, and only asks.
	Check Verb = "check"
)

// An Extension is what is to be done with the TTL of a holding, if that is still held as it says.
type Extension struct {
	Do    Verb
	TTL   time.Duration // of Prolong, Cut and AddTime
	Above time.Duration // of Cut
}

// arguments returns those of extend.lua, for a holding under an id with a fencing token, 0 for
// none. Above is rounded down, where a TTL is rounded up: a key that has more than was said is cut.
func (e Extension) arguments(id string, fence int64) []any {
	args := []any{id, string(e.Do), Millis(e.TTL), fence}
	if e.Do == Cut {
		args = append(args, int64(e.Above/time.Millisecond))
	}
	return args
}

// Extended is the answer to an extension.
type Extended struct {
	Standing Standing
	TTL      time.Duration // of ours: what is left now, or NoExpiry
	Owner    string        // of Other: who holds it
}

// A Standing is how an extension finds a holding, in the script's words.
type Standing string

const (
	// Ours: it is held as was said.
	Ours Standing = "ours"
	// Bare: it is held as was said, but had no expiry, though it should.
	Bare Standing = "bare"
	// Other: somebody else holds it, or somebody under the same id with a later fencing token.
	Other Standing = "other"
	// Nobodys: nobody holds it.
	Nobodys Standing = "free"
)

// Ours reports whether the holding is held as was said.
func (e Extended) Ours() bool { return e.Standing == Ours || e.Standing == Bare }

// parseExtended takes in how an extension found a holding. The words are compared and not
// converted, which would copy each of them. With an owner a holding cannot be ours: the script
// tells of others only.
func parseExtended(reply any) (Extended, error) {
	word, found, err := parseFound(reply)
	if err != nil {
		return Extended{}, err
	}
	for _, standing := range [...]Standing{Ours, Bare, Other, Nobodys} {
		if string(word) == string(standing) && (standing == Other || found.Owner == "") {
			return Extended{Standing: standing, Owner: found.Owner, TTL: found.TTL}, nil
		}
	}
	return Extended{}, ErrReply
}

// Renew runs a batch of extensions on the renewals' own connection. written is called as soon as
// nothing of it is written any more. It returns the answer to each, or its error. It blocks at most
// for the limit.
//
// An error that is [NoScript] means that the extension was not executed. The next batch brings the
// script, but this one is not sent again. What it extends may have been released meanwhile, and
// whoever released it was promised that nothing is written after that.
func (s *Store) Renew(batch []Run, limit time.Duration, written func()) ([]Extended, []error) {
	load := s.loadExtend.Swap(false) // with the first of the batch: Redis knows it for the others then
	cmds := make([]redisconn.Command, len(batch))
	for i, r := range batch {
		cmds[i] = r.command(load && i == 0)
	}
	call := redisconn.NewBatch(time.Now().Add(limit), cmds)
	call.Written = written
	all, errs := make([]Extended, len(batch)), make([]error, len(batch))
	if err := s.renewals.Do(context.Background(), call); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return all, errs
	}
	if slices.ContainsFunc(call.Replies, noScript) {
		s.loadExtend.Store(true)
	}
	for i, reply := range refusals(call) {
		if refused, ok := reply.(error); ok {
			errs[i] = refused
			continue
		}
		all[i], errs[i] = parseExtended(reply)
	}
	return all, errs
}
