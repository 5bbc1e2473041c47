package lock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

// taken is the answer to an acquire that found the lock held.
type taken struct {
	owner   string
	pttl    int64
	foreign bool // the key is no lock, so nobody holds it and nobody gets it
}

// An acquisition is what one acquire asks for.
type acquisition struct {
	name, id string
	ttl      time.Duration
	atLeast  time.Duration // for how long nobody else is to get the lock
	noFence  bool
	must     string // the id that the lock is taken over from; "": the lock must be free
	chosen   bool   // the user chose id: to find it where something else must be is no success
}

// fenceTTL returns for how many milliseconds the fencing token is kept: it must outlive the lease, and
// what keeps the lock after it.
func (a acquisition) fenceTTL() int64 { return millis(max(leastFenceTTL, 2*a.ttl, 2*a.atLeast)) }

func (s *store) acquireArgs(a acquisition) scriptArgs {
	set := scriptArgs{[]string{s.lock(a.name)}, []any{a.id, millis(a.ttl), a.fenceTTL()}}
	if !a.noFence {
		set.keys = append(set.keys, s.fence(a.name))
	}
	chosen := ""
	if a.chosen {
		chosen = "chosen"
	}
	switch {
	case a.must != "":
		set.args = append(set.args, chosen, a.must)
	case a.chosen:
		set.args = append(set.args, chosen)
	}
	return set
}

// errNobody says that nobody holds the lock that was to be taken over.
var errNobody = errors.New("nobody holds it")

// acquire puts an id there if the lock holds what must be there. With the lock it returns the fencing
// token, 0 for none. Without it, who holds the lock.
func (s *store) acquire(ctx context.Context, a acquisition) (
	fence int64, held *taken, before time.Time, err error,
) {
	set := s.acquireArgs(a)
	eval := s.eval
	if a.chosen {
		eval = s.evalOnce
	}
	reply, before, err := eval(ctx, limitFromNow(), &scripts.Acquire, set.keys, set.args...)
	if err != nil {
		return 0, nil, before, err
	}
	s.answered.Store(true)
	if token, ok := reply.([]byte); ok {
		// Unsigned: ParseInt would take a sign, which no token has.
		if fence, err := strconv.ParseUint(string(token), 10, 63); err == nil {
			return int64(fence), nil, before, nil
		}
	}
	held, err = parseTaken(reply)
	if err == nil && held == nil {
		if err = errReply; a.must != "" {
			err = errNobody
		}
	}
	return 0, held, before, err
}

// A lockRef is a lock that is held under an id, to be released.
type lockRef struct {
	name, id string
	fence    int64     // the lease's fencing token; 0 if it has none, or it is not known
	keep     time.Time // until when nobody may have the lock; zero: it is free at once
	noExpiry bool      // the lock does not expire by itself
	// signalTTL is how long the signal of the release waits for a waiter; 0: as the client says.
	signalTTL time.Duration
	pool      string   // whose waiters are to be woken, if it is a member's lock; else ""
	member    string   // of the pool
	anyOf     []string // of the pool: whichever member is held under the id is meant, and name is the pool's
}

// place returns the name under which others wait for the lock.
func (r lockRef) place() string { return cmp.Or(r.pool, r.name) }

// A released is what a release has found, in the script's words.
type released string

const (
	notHeld  released = "not held"  // nobody holds the lock, or somebody else under another id
	wasHeld  released = "released"  // it was held as the ref says, and is free now
	handedOn released = "handed on" // somebody else holds it under the same id, with a later fencing token
)

// release gives the lock up if it is held as ref says, and returns what it found.
func (s *store) release(ctx context.Context, deadline time.Time, ref lockRef) (released, error) {
	set := s.releaseArgs(ref)
	reply, _, err := s.eval(ctx, deadline, &scripts.Release, set.keys, set.args...)
	if err != nil {
		return notHeld, err
	}
	return parseReleased(reply)
}

// parseReleased tells "not held" from a reply that says nothing of the kind.
func parseReleased(reply any) (released, error) {
	switch reply := reply.(type) {
	case error:
		return notHeld, reply
	case []byte:
		switch found := released(reply); found {
		case notHeld, wasHeld, handedOn:
			return found, nil
		}
	}
	return notHeld, errReply
}

func (s *store) releaseArgs(ref lockRef) scriptArgs {
	set := scriptArgs{[]string{s.lock(ref.name), s.signal(ref.place())}, []any{ref.id, s.signalMillis(ref)}}
	if ref.fence == 0 && ref.keep.IsZero() && ref.pool == "" {
		return set
	}
	keep := int64(0)
	if !ref.keep.IsZero() {
		keep = max(millis(time.Until(ref.keep)), 0)
	}
	set.args = append(set.args, keep)
	if ref.fence != 0 {
		set.keys = append(set.keys, s.fence(ref.name))
	}
	set.args = append(set.args, ref.fence)
	if ref.pool != "" {
		set.args = append(set.args, ref.member)
	}
	return set
}

// releaseAll releases several locks together. For each it returns what it found, or the error.
func (s *store) releaseAll(ctx context.Context, deadline time.Time, refs []lockRef) ([]released, []error) {
	sets := make([]scriptArgs, len(refs))
	for i, ref := range refs {
		sets[i] = s.releaseArgs(ref)
	}
	found, errs := make([]released, len(refs)), make([]error, len(refs))
	replies, err := s.evalAll(ctx, deadline, &scripts.Release, sets)
	for i := range refs {
		if err != nil {
			errs[i] = err
			continue
		}
		found[i], errs[i] = parseReleased(replies[i])
	}
	return found, errs
}

// extended is the answer to an extend.
type extended struct {
	state standing
	owner string // of isOther: who holds the lock
	pttl  int64  // of ours: what the key has now; -1 for no expiry
}

// A standing is how an extend finds a lock, in the script's words.
type standing string

const (
	isOurs  standing = "ours"
	isBare  standing = "bare"  // ours, but it had no expiry, though it should
	isOther standing = "other" // somebody else's, or ours under a later fencing token
	isFree  standing = "free"
)

// ours reports whether the lock is held as the extend said.
func (e extended) ours() bool { return e.state == isOurs || e.state == isBare }

// An extendVerb says what an extend does with the key's TTL, in the script's words.
type extendVerb string

const (
	extendTo      extendVerb = "to"      // at least to ttl, so that it never shortens it
	extendCut     extendVerb = "cut"     // to ttl, if it is not between that and above
	extendBy      extendVerb = "by"      // by ttl
	extendPersist extendVerb = "persist" // away: the lock stays for ever
	extendCheck   extendVerb = "check"   // nothing
)

// An extension is what one extend asks for.
type extension struct {
	name, id string
	fence    int64 // the lease's fencing token; 0 if it has none
	verb     extendVerb
	ttl      time.Duration
	above    int64 // milliseconds; only of extendCut
}

func (s *store) extendArgs(e extension) scriptArgs {
	set := scriptArgs{
		[]string{s.lock(e.name), s.signal(e.name)},
		[]any{e.id, string(e.verb), millis(e.ttl), e.fence},
	}
	if e.fence != 0 {
		set.keys = append(set.keys, s.fence(e.name))
	}
	if e.verb == extendCut {
		set.args = append(set.args, e.above)
	}
	return set
}

// extend prolongs the lock if it is still held under the id.
func (s *store) extend(ctx context.Context, e extension) (extended, error) {
	set := s.extendArgs(e)
	eval := s.eval
	if e.verb == extendBy {
		eval = s.evalOnce
	}
	reply, _, err := eval(ctx, limitFromNow(), &scripts.Extend, set.keys, set.args...)
	if err != nil {
		return extended{}, err
	}
	return parseExtended(reply)
}

func parseExtended(reply any) (extended, error) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return extended{}, errReply
	}
	word, _ := parts[0].([]byte)
	found, err := parseTaken(parts[1:])
	if err != nil {
		return extended{}, err
	}
	e := extended{state: standing(word), owner: found.owner, pttl: found.pttl}
	switch {
	case e.ours() && e.owner == "" && e.pttl >= -1,
		e.state == isOther && e.pttl >= -1,
		e.state == isFree && e.owner == "" && e.pttl == -2:
		return e, nil
	}
	return extended{}, errReply
}

// extendAll sends a batch of extends on the renewals' own connection. written is called as soon as
// nothing of it is written any more. An error reply NOSCRIPT means that the extend was not executed;
// the next batch brings the script, but this one is not sent again: its leases may have been
// released meanwhile.
func (s *store) extendAll(sets []scriptArgs, limit time.Duration, written func()) ([]any, error) {
	load := s.loadExtend.Swap(false)
	cmds := make([]redisconn.Command, len(sets))
	for i, set := range sets {
		cmds[i] = script(load && i == 0, &scripts.Extend, set.keys, set.args...)
	}
	call := redisconn.NewBatch(time.Now().Add(limit), cmds)
	call.Written = written
	if err := s.renewals.Do(context.Background(), call); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(call.Replies, noScript) {
		s.loadExtend.Store(true)
	}
	return refusals(call), nil
}

// expireAll gives locks without expiry that are held as refs say these TTLs. Those that have one keep it,
// if it is longer. For each it returns the error.
func (s *store) expireAll(deadline time.Time, refs []lockRef, ttls []time.Duration) []error {
	sets := make([]scriptArgs, len(refs))
	for i, ref := range refs {
		sets[i] = s.extendArgs(extension{
			name: ref.name, id: ref.id, fence: ref.fence, verb: extendTo, ttl: ttls[i],
		})
	}
	errs := make([]error, len(refs))
	replies, err := s.evalAll(context.Background(), deadline, &scripts.Extend, sets)
	for i := range refs {
		if errs[i] = err; err != nil {
			continue
		}
		refused, ok := replies[i].(error)
		if errs[i] = refused; !ok {
			_, errs[i] = parseExtended(replies[i])
		}
	}
	return errs
}
