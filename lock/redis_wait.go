package lock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/signal"
)

const (
	registerTTL = "5000" // milliseconds that the hash of waiters outlives its last look
	inboxTTL    = "5000" // milliseconds that a call to a wait connection is kept
	// blockGrace is how much later than asked a blocking read may end before its connection is
	// given up. Redis ends it up to 100 ms late, and by the wall clock, which may be stepped.
	blockGrace = 500 * time.Millisecond
)

// waitStore is the store as signal.Hub sees it.
type waitStore struct {
	*store

	mu    sync.Mutex // guards the field below
	ports map[int]*redisconn.Port
}

func newWaitStore(s *store) *waitStore {
	return &waitStore{store: s, ports: make(map[int]*redisconn.Port)}
}

// port returns what dials for connection k: always the same, so that dials that hang do not pile
// up.
func (s *waitStore) port(k int) *redisconn.Port {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ports[k] == nil {
		s.ports[k] = s.source.NewPort()
	}
	return s.ports[k]
}

// forget drops the port of connection k, on which no dial is under way.
func (s *waitStore) forget(k int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ports, k)
}

// hangup gives up all dials under way; no Connect is.
func (s *waitStore) hangup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, port := range s.ports {
		port.Hangup()
	}
}

// Connect dials a wait connection.
func (s *waitStore) Connect(k int) (signal.Conn, error) {
	link, err := s.port(k).Dial(operationLimit)
	if !errors.Is(err, redisconn.ErrTimeout) {
		s.forget(k)
	}
	if err != nil {
		return nil, &redisconn.Error{Err: err}
	}
	return &waitConn{store: s.store, link: link, inbox: s.inbox(k)}, nil
}

// Wake pushes to the connection's inbox. It does not wait for the reply.
func (s *waitStore) Wake(k int) {
	call := s.wake(k, false)
	call.Answered = func() {
		if noScript(call.Replies[0]) {
			s.calls.Go(s.wake(k, true))
		}
	}
	s.calls.Go(call)
}

func (s *waitStore) wake(k int, text bool) *redisconn.Call {
	return redisconn.NewCall(limitFromNow(), script(text, &scripts.Look, []string{s.inbox(k)}, wakeArgs...))
}

// wakeArgs have the look script push to an inbox.
var wakeArgs = []any{"wake", inboxTTL}

// GiveBack puts a signal back. One of a pool that does not say which member was released is always put
// back: there is no lock to look at.
func (s *waitStore) GiveBack(name string) error {
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
func (s *waitStore) Group(string) string { return "" }

// Judge says what an error means for waiting.
func (s *waitStore) Judge(err error) signal.Verdict {
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

// waitConn is one wait connection. It always blocks on its inbox as well, as the first key.
type waitConn struct {
	*store
	link  *redisconn.Link
	inbox string
}

// Look asks for the PTTLs of the names' locks, and keeps the register of who waits fresh.
func (c *waitConn) Look(l signal.Look) ([]time.Duration, error) {
	keys := make([]string, 0, len(l.Names)+1)
	for _, name := range l.Names {
		keys = append(keys, c.lock(name))
	}
	keys = append(keys, c.waiting())
	reply, err := c.look(&scripts.Look, keys, registerArgs(l))
	if err != nil {
		return nil, err
	}
	values, ok := reply.([]any)
	if !ok || len(values) != len(l.Names) {
		return nil, errReply
	}
	left := make([]time.Duration, len(values))
	for i, value := range values {
		pttl, ok := parsePTTL(value)
		if !ok {
			return nil, errReply
		}
		left[i] = remaining(pttl)
	}
	return left, c.lookAny(l.Names, left)
}

// look runs a script that looks.
func (c *waitConn) look(sc *scripts.Script, keys []string, args []any) (any, error) {
	reply, err := c.link.Do(operationLimit, script(false, sc, keys, args...))
	if err != nil && redisconn.Classify(err) == redisconn.NoScript {
		return c.link.Do(operationLimit, script(true, sc, keys, args...))
	}
	return reply, err
}

func registerArgs(l signal.Look) []any {
	if l.Waiters == nil {
		return []any{"0", "0"}
	}
	anew := "0"
	if l.Anew {
		anew = "1"
	}
	args := []any{registerTTL, anew}
	for i, name := range l.Names {
		args = append(args, name, l.Waiters[i])
	}
	for _, name := range l.Gone {
		args = append(args, name, 0)
	}
	return args
}

// remaining turns a PTTL, or the look script's -3, into what signal calls it.
func remaining(pttl int64) time.Duration {
	switch {
	case pttl >= 0:
		return fromMillis(pttl)
	case pttl == -1:
		return signal.Forever
	case pttl == -2:
		return signal.Free
	}
	return signal.Foreign
}

// Block reads from the names' signals and the inbox.
func (c *waitConn) Block(names []string, d time.Duration) (string, error) {
	args := make([]any, 0, len(names)+2)
	args = append(args, c.inbox)
	for _, name := range names {
		args = append(args, c.signal(name))
	}
	seconds := strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
	return c.pop(d+blockGrace, append(args, seconds))
}

// pop runs BLPOP and returns whose signal it read: "" for none, or the inbox's.
func (c *waitConn) pop(limit time.Duration, args []any) (string, error) {
	reply, err := c.link.Do(limit, redisconn.Command{Name: "BLPOP", Args: args, Fits: fitsPop})
	if redisconn.BlockingRefused(err) {
		return "", errors.Join(errNoBlock, err)
	}
	if err != nil || reply == nil {
		return "", err
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

// Probe looks at one name and reads its signal if one is there. The inbox is filled before, and
// stands behind the signal, so that the read does not block.
func (c *waitConn) Probe(name string) (signalled bool, err error) {
	if _, err := c.look(&scripts.Look, []string{c.lock(name), c.waiting()}, []any{"0", "0"}); err != nil {
		return false, err
	}
	if _, err := c.look(&scripts.Look, []string{c.inbox}, wakeArgs); err != nil {
		return false, err
	}
	read, err := c.pop(operationLimit, []any{c.signal(name), c.inbox, "1"})
	return read == name, err
}

// Close ends the connection, and a read under way.
func (c *waitConn) Close() { c.link.Close() }
