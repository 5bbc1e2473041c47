package store

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/signal"
)

// blockGrace is how much later than asked a blocking read may end, beside the round trip, before
// its connection is given up. Redis ends it up to 100 ms late, and by the wall clock, which may be
// stepped.
const blockGrace = 500 * time.Millisecond

// inboxTTL is how many milliseconds a call to a wait connection is kept. It is for a read that is
// under way. A call that is left from then ends a later read for nothing.
const inboxTTL = "5000"

// wake is what pushes to an inbox.
func wake(inbox string) Run { return Run{&scripts.Look, []string{inbox}, []any{"wake", inboxTTL}} }

// errNoBlock marks the refusal of BLPOP itself.
var errNoBlock = errors.New("blocking reads are refused")

// A dialer owns the port of one wait connection. A port has one dial under way at most, so that
// dials that hang do not pile up. It ends with the port.
type dialer struct {
	store *Store
	port  *redisconn.Port
	inbox string
}

// Dial makes the connection. It blocks at most for an operation limit. Its error is one of the way
// to Redis, whatever Redis says to the greeting: the hub dials again.
func (d *dialer) Dial() (signal.Conn, error) {
	link, err := d.port.Dial(OperationLimit)
	if err != nil {
		return nil, &redisconn.Error{Err: err}
	}
	return &conn{store: d.store, link: link, inbox: d.inbox}, nil
}

// Hangup gives up a dial under way.
func (d *dialer) Hangup() { d.port.Hangup() }

// A conn is one wait connection. It always blocks on its inbox as well, as the first key.
type conn struct {
	store *Store
	link  *redisconn.Link
	inbox string
	text  bool // Redis does not know the take script: send its text next time
}

// Block reads from the names' signals and the inbox. BLPOP reads one signal. The take script goes
// out with it, and runs when BLPOP has ended: it reads the others that came with that one.
//
// With an error it may return names as well. What was read is not in Redis any more, so it counts,
// even if the connection broke right after it.
func (c *conn) Block(names []signal.Name, d time.Duration) ([]signal.Name, error) {
	signals := make([]string, len(names))
	args := append(make([]any, 0, len(names)+2), c.inbox)
	for i, n := range names {
		signals[i] = c.store.signalOf(n)
		args = append(args, signals[i])
	}
	args = append(args, strconv.FormatFloat(d.Seconds(), 'f', 3, 64))
	cmds := []redisconn.Command{{Name: "BLPOP", Args: args, Fits: fitsPop}}
	if len(names) > 1 {
		cmds = append(cmds, Run{&scripts.Take, signals, nil}.command(c.text))
	}
	// The reply comes a round trip after the time is up. The greeting has shown how long one is
	// here.
	replies, err := c.link.DoAll(d+blockGrace+min(c.link.Greeted(), OperationLimit), cmds...)
	if len(replies) == 0 {
		return nil, err
	}
	signalled, refused := c.popped(replies[0], names, signals)
	if len(replies) > 1 {
		signalled = append(signalled, c.taken(replies[1], names)...)
	}
	if err == nil {
		err = refused
	}
	return signalled, err
}

// popped returns whose signal BLPOP read: none if the time was up, or if it was the inbox. A
// refusal of BLPOP itself is marked, since waiting then goes on without it. Any other refusal may
// pass.
func (c *conn) popped(reply any, names []signal.Name, signals []string) ([]signal.Name, error) {
	if err, ok := reply.(error); ok && redisconn.BlockingRefused(err) {
		return nil, errors.Join(errNoBlock, err)
	}
	if err, ok := reply.(error); ok {
		return nil, err
	}
	if reply == nil {
		return nil, nil
	}
	popped, err := parseTexts(reply)
	if err != nil || len(popped) != 2 {
		return nil, ErrReply
	}
	if popped[0] == c.inbox {
		return nil, nil
	}
	i := slices.Index(signals, popped[0])
	if i < 0 { // it is the reply to somebody else's read
		return nil, ErrReply
	}
	c.store.heard(names[i], popped[1])
	return []signal.Name{names[i]}, nil
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

// taken returns whose signals the take script read. If it failed there are none: BLPOP will read
// them, one after the other. So the script is not sent again if Redis does not know it, but the
// next read brings it.
func (c *conn) taken(reply any, names []signal.Name) (signalled []signal.Name) {
	c.text = noScript(reply)
	places, _ := parsePlaces(reply, len(names))
	for _, place := range places {
		signalled = append(signalled, names[place-1])
	}
	return signalled
}

// parsePlaces takes in which of so many signals were read: by their places, from 1 on.
func parsePlaces(reply any, signals int) ([]int, error) {
	parts, ok := reply.([]any)
	if !ok {
		return nil, ErrReply
	}
	places := make([]int, len(parts))
	for i, part := range parts {
		place, ok := part.(int64)
		if !ok || place < 1 || place > int64(signals) {
			return nil, ErrReply
		}
		places[i] = int(place)
	}
	return places, nil
}

// Probe reads one name's signal if one is there. The inbox is filled before, and stands behind the
// signal, so that the read does not block.
func (c *conn) Probe(name signal.Name) (signalled bool, err error) {
	for _, text := range []bool{false, true} { // by its name and, if Redis does not know that, by its text
		_, err = c.link.Do(OperationLimit, wake(c.inbox).command(text))
		if err == nil || redisconn.Classify(err) != redisconn.NoScript {
			break
		}
	}
	if err != nil {
		return false, err
	}
	key := c.store.signalOf(name)
	replies, err := c.link.DoAll(OperationLimit, redisconn.Command{
		Name: "BLPOP", Args: []any{key, c.inbox, "1"}, Fits: fitsPop,
	})
	if err != nil {
		return false, err
	}
	read, err := c.popped(replies[0], []signal.Name{name}, []string{key})
	return len(read) > 0, err
}

// Close ends the connection, and a read under way.
func (c *conn) Close() { c.link.Close() }
