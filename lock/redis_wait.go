package lock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/signal"
)

const (
	registerTTL = "5000" // milliseconds that the hash of waiters outlives its last look
	inboxTTL    = "5000" // milliseconds that a call to a wait connection is kept
	// blockGrace is how much later than asked a blocking read may end, beside the round trip, before its
	// connection is given up. Redis ends it up to 100 ms late, and by the wall clock, which may be stepped.
	blockGrace = 500 * time.Millisecond
)

// waitStore is the store as signal.Hub sees it.
type waitStore struct{ *store }

// Dialer returns what dials wait connection k.
func (s waitStore) Dialer(k int) signal.Dialer {
	return &waitDialer{store: s.store, port: s.source.NewPort(), inbox: s.inbox(k)}
}

// waitDialer owns the port of one wait connection, so that dials that hang do not pile up, and end
// with it.
type waitDialer struct {
	*store
	port  *redisconn.Port
	inbox string
}

func (d *waitDialer) Dial() (signal.Conn, error) {
	link, err := d.port.Dial(operationLimit)
	if err != nil {
		return nil, &redisconn.Error{Err: err}
	}
	return &waitConn{store: d.store, link: link, inbox: d.inbox}, nil
}

func (d *waitDialer) Hangup() { d.port.Hangup() }

// Wake pushes to the connection's inbox. It does not wait for the reply.
func (s waitStore) Wake(k int) {
	call := s.wake(k, false)
	call.Answered = func() {
		if noScript(call.Replies[0]) {
			s.calls.Go(s.wake(k, true))
		}
	}
	s.calls.Go(call)
}

func (s waitStore) wake(k int, text bool) *redisconn.Call {
	return redisconn.NewCall(limitFromNow(), script(text, &scripts.Look, []string{s.inbox(k)}, wakeArgs...))
}

// wakeArgs have the look script push to an inbox.
var wakeArgs = []any{"wake", inboxTTL}

// GiveBack puts a signal back. One of a pool that does not say which member was released is always put
// back: there is no lock to look at.
func (s waitStore) GiveBack(n signal.Name) error {
	name := n.Name
	ref := lockRef{name: name}
	free := s.pools.take(name)
	if free != "" {
		ref = lockRef{name: memberLock(name, free), pool: name, member: free}
	}
	err := s.repair(context.Background(), ref)
	if err != nil && free != "" {
		s.pools.signalled(name, free) // for the next try
	}
	return err
}

// Group returns the same for all names: one Redis serves them.
func (s waitStore) Group(signal.Name) string { return "" }

// Judge says what an error means for waiting.
func (s waitStore) Judge(err error) signal.Verdict {
	switch {
	case errors.Is(err, errNoBlock):
		return signal.NoBlock
	case refused(err) && redisconn.Classify(err) == redisconn.Permanent:
		return signal.Permanent
	}
	return signal.Passes
}

// errNoBlock marks the refusal of BLPOP itself.
var errNoBlock = errors.New("blocking reads are refused")

// Look asks for the PTTLs of the names' locks, and writes the register of who waits there.
func (s waitStore) Look(ctx context.Context, k int, l signal.Look) ([]signal.Left, error) {
	keys := make([]string, 0, len(l.Names)+1)
	for _, name := range l.Names {
		keys = append(keys, s.lock(name.Name))
	}
	keys = append(keys, s.waiting(k))
	reply, _, err := s.eval(ctx, limitFromNow(), &scripts.Look, keys, registerArgs(l)...)
	if err != nil {
		return nil, err
	}
	values, ok := reply.([]any)
	if !ok || len(values) != len(l.Names) {
		return nil, errReply
	}
	left := make([]signal.Left, len(values))
	for i, value := range values {
		if left[i], err = parseLeft(value); err != nil {
			return nil, err
		}
	}
	return left, s.lookAny(ctx, l.Names, left)
}

func registerArgs(l signal.Look) []any {
	if l.Waiters == nil {
		return []any{"0"}
	}
	args := []any{registerTTL}
	for i, name := range l.Names {
		args = append(args, name.Name, l.Waiters[i])
	}
	return args
}

// parseLeft takes in what a look says of one lock, or of the first of a pool: the PTTL, or a word.
func parseLeft(reply any) (signal.Left, error) {
	if word, ok := reply.([]byte); ok {
		switch string(word) {
		case "foreign":
			return signal.Foreign, nil
		case "others":
			return signal.Free, nil // the pool has other members, and one may be free
		}
		return signal.Unknown, errReply
	}
	pttl, ok := parsePTTL(reply)
	switch {
	case !ok || pttl < -2:
		return signal.Unknown, errReply
	case pttl == -2:
		return signal.Free, nil
	case pttl == -1:
		return signal.Forever, nil
	}
	return signal.For(fromMillis(pttl)), nil
}

// waitConn is one wait connection. It always blocks on its inbox as well, as the first key.
type waitConn struct {
	*store
	link  *redisconn.Link
	inbox string
	text  bool // Redis does not know the take script: send its text next time
}

// Block reads from the names' signals and the inbox. BLPOP reads one signal. The take script goes out
// with it, and runs when BLPOP has ended: it reads the others that came with that one.
func (c *waitConn) Block(names []signal.Name, d time.Duration) ([]signal.Name, error) {
	signals := make([]string, len(names))
	args := append(make([]any, 0, len(names)+2), c.inbox)
	for i, name := range names {
		signals[i] = c.signal(name.Name)
		args = append(args, signals[i])
	}
	args = append(args, strconv.FormatFloat(d.Seconds(), 'f', 3, 64))
	cmds := []redisconn.Command{{Name: "BLPOP", Args: args, Fits: fitsPop}}
	if len(names) > 1 {
		cmds = append(cmds, script(c.text, &scripts.Take, signals))
	}
	replies, err := c.link.DoAll(d+blockGrace+min(c.link.Greeted(), operationLimit), cmds...)
	if len(replies) == 0 {
		return nil, err
	}
	var signalled []signal.Name
	name, refused := c.popped(replies[0])
	if name != "" {
		signalled = append(signalled, signal.Name{Name: name})
	}
	if len(replies) > 1 {
		signalled = append(signalled, c.taken(replies[1], names)...)
	}
	if err == nil {
		err = refused
	}
	return signalled, err
}

// popped returns whose signal BLPOP read: "" for none, or the inbox's.
func (c *waitConn) popped(reply any) (string, error) {
	if err, ok := reply.(error); ok && redisconn.BlockingRefused(err) {
		return "", errors.Join(errNoBlock, err)
	}
	if err, ok := reply.(error); ok {
		return "", err
	}
	if reply == nil {
		return "", nil
	}
	popped, err := redis.Strings(reply, nil)
	if err != nil || len(popped) != 2 {
		return "", errReply
	}
	if popped[0] == c.inbox {
		return "", nil
	}
	name, ok := c.signalled(popped[0])
	if !ok {
		return "", errReply
	}
	c.pools.signalled(name, popped[1])
	return name, nil
}

// fitsPop fits a reply to BLPOP: nothing, or one of the keys and its element.
func fitsPop(args []any, reply any) bool {
	parts, _ := reply.([]any)
	if reply == nil || len(parts) != 2 {
		return reply == nil
	}
	key, ok := parts[0].([]byte)
	_, ok2 := parts[1].([]byte)
	return ok && ok2 && slices.Contains(args[:len(args)-1], any(string(key)))
}

// taken returns whose signals the take script read. If it failed there are none: BLPOP will read them,
// one after the other.
func (c *waitConn) taken(reply any, names []signal.Name) (signalled []signal.Name) {
	c.text = noScript(reply)
	places, _ := redis.Ints(reply, nil)
	for _, place := range places {
		if place >= 1 && place <= len(names) {
			signalled = append(signalled, names[place-1])
		}
	}
	return signalled
}

// Probe reads one name's signal if one is there. The inbox is filled before, and stands behind the
// signal, so that the read does not block.
func (c *waitConn) Probe(name signal.Name) (signalled bool, err error) {
	for _, text := range []bool{false, true} {
		_, err = c.link.Do(operationLimit, script(text, &scripts.Look, []string{c.inbox}, wakeArgs...))
		if err == nil || redisconn.Classify(err) != redisconn.NoScript {
			break
		}
	}
	if err != nil {
		return false, err
	}
	replies, err := c.link.DoAll(operationLimit, redisconn.Command{
		Name: "BLPOP", Args: []any{c.signal(name.Name), c.inbox, "1"}, Fits: fitsPop,
	})
	if err != nil {
		return false, err
	}
	read, err := c.popped(replies[0])
	return read == name.Name, err
}

// Close ends the connection, and a read under way.
func (c *waitConn) Close() { c.link.Close() }
