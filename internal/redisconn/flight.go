package redisconn

import (
	"errors"
	"time"
)

// errMixedUp is the error of the calls behind one with [ErrReply].
var errMixedUp = errors.New("the connection was closed because another call got a wrong reply")

// A flight is one exchange of calls on a link: the calls that were written and have no replies yet.
// More calls can be written behind them while their replies are read.
//
// A flight is under the time of its first call. When that is up, the link is not worth waiting for:
// Redis answers in order, so the calls behind the first one cannot be answered either.
type flight struct {
	link  *Link
	calls []*Call   // in the order of their replies
	armed time.Time // the deadline of the fuse: when the first call is given up
	moved bool      // Redis said that this connection is of no use
	// patience is the read deadline of each reply; 0: what the dialer has set. It is a little more
	// than the time of the first call, so that the fuse always acts first.
	patience time.Duration
}

// begin writes the first calls. After an error, of begin or any other method, only end is left.
func (f *flight) begin(calls []*Call) error {
	f.calls, f.armed = calls, calls[0].by
	f.link.begin(f.armed)
	return f.write(calls)
}

// open reports whether more calls may be added: Redis works on them while the replies of those in
// flight are handed out. There is no more for a server that is of no use.
func (f *flight) open() bool { return len(f.calls) > 0 && len(f.calls) < maxBatch && !f.moved }

// add writes more calls.
func (f *flight) add(calls []*Call) error {
	f.calls = append(f.calls, calls...)
	if len(calls) == 0 {
		return nil
	}
	return f.write(calls)
}

// write writes the commands of the calls.
func (f *flight) write(calls []*Call) error {
	for _, c := range calls {
		if err := f.link.send(c.Commands); err != nil {
			return err
		}
	}
	if err := f.link.conn.flush(); err != nil {
		return err
	}
	for _, c := range calls { // not before Flush: what fits into the buffer is written there
		c.written()
	}
	return nil
}

// next reads the replies of the first call, and ends that call. The call is not ended if there is
// more to read behind the last reply that is due: then the call's own reply may be another call's.
func (f *flight) next() error {
	c := f.calls[0]
	err := f.receive(c)
	if err == nil && len(f.calls) == 1 {
		err = f.link.surplus()
	}
	if err != nil {
		return err
	}
	c.finish(nil)
	f.calls = f.calls[1:]
	// From here on the time of the next call counts. If the time of the answered call went on to
	// count, the fuse would cut off those behind, which may have more.
	if len(f.calls) > 0 && f.calls[0].by != f.armed {
		f.armed = f.calls[0].by
		f.link.fuse.arm(f.armed)
	}
	return nil
}

// receive reads the replies of one call. The error is ErrReply if a reply is none to its command.
// With an error the call has the replies before it.
func (f *flight) receive(c *Call) error {
	c.where = f.link.where
	for i := range c.Replies {
		reply, err := f.link.conn.receive(f.patience)
		if err == nil && !c.Commands[i].fits(reply) {
			err = ErrReply
		}
		if err == nil {
			c.Replies[i] = reply
			continue
		}
		refused, ok := refusal(err)
		if !ok {
			c.Replies = c.Replies[:i]
			return err
		}
		c.Replies[i] = discreet(refused)
		f.moved = f.moved || Classify(refused) == Moved
	}
	return nil
}

// end ends the exchange, and returns what broke it. The calls that are left have no replies; fail
// ends them.
func (f *flight) end(err error) error {
	var limit time.Duration // of the call whose time is up, if one's is
	if len(f.calls) > 0 {
		limit = f.calls[0].by.Sub(f.calls[0].Sent)
	}
	return f.link.end(limit, err, len(f.calls) > 0)
}

// alone is a whole exchange of commands that share the link with no calls. It returns their
// replies, error replies among them. With an error come the replies that were there before it.
func (f *flight) alone(limit time.Duration, cmds []Command) ([]any, error) {
	if limit <= 0 {
		return nil, ErrTimeout // nothing was sent
	}
	now := time.Now()
	c := NewBatch(now.Add(limit), cmds)
	c.Sent, c.by = now, c.Deadline
	if err := f.begin([]*Call{c}); err != nil {
		return nil, f.end(err)
	}
	err := f.next()
	return c.Replies, f.end(err)
}

// fail ends the calls that got no replies. After a wrong reply, the first of them is the one that
// knows why; the others are told that it was not theirs.
func (f *flight) fail(err error) {
	calls := f.calls
	if len(calls) > 0 && errors.Is(err, ErrReply) {
		failAll(calls[:1], true, err)
		calls, err = calls[1:], errMixedUp
	}
	failAll(calls, true, err)
}
