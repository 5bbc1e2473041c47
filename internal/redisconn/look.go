package redisconn

import "time"

// idleFor is for how long a connection must have been idle to be looked at where that costs something.
const idleFor = time.Second

// on says what the link stands on: a wire, nil for none that is known, and the server's address, if it
// is known without. Nothing was written on the link yet.
func (k *Link) on(w *Wire, address string) {
	k.where = address
	_, k.inProcess = k.conn.Conn.(interface{ InProcess() })
	if w == nil {
		return
	}
	k.wire.Store(w)
	if address == "" {
		k.where = whereBefore + w.address
	}
}

// settle is called after the first exchange. The wire that was dialled last need not be the one that
// the link stands on: a dialler may ask several servers for the right one.
func (k *Link) settle() {
	if w := k.wire.Load(); w != nil && !w.used() {
		k.wire.Store(nil)
		k.where = ""
		k.rest()
	}
}

// first returns the error of the first exchange.
func (k *Link) first(err error) error {
	err = at(k.where, err)
	if w := k.wire.Load(); w != nil && !w.tls && closedOn(err) {
		return hinted(err, wantsTLS)
	}
	return err
}

// stale returns an error if the link cannot be used any more, although no exchange is under way: the
// other side closed it, or sent what nobody asked for. Then the owner dials another one, and sends
// there what it was about to send: nothing is lost. It does not block, and sees only connections of
// NetDial; see blind.
func (k *Link) stale() error {
	w := k.wire.Load()
	switch {
	case w == nil:
		return nil
	case w.silent() && time.Since(k.rested) < idleFor:
		return k.surplus()
	}
	return w.look()
}

// blind reports whether the link was idle for so long that the other side may have closed it, and this
// cannot be seen. Before something is sent that would not be repeated, it takes a ping to know.
func (k *Link) blind() bool {
	return k.wire.Load() == nil && !k.inProcess && time.Since(k.rested) >= idleFor
}

// rest takes note that the link is idle from now on, where that matters.
func (k *Link) rest() {
	if w := k.wire.Load(); w == nil || w.silent() {
		k.rested = time.Now()
	}
}

// ping asks whether the other side is there. Any answer is good; that PING is not allowed is one, too.
func (k *Link) ping(limit time.Duration) error {
	_, err := k.exchange(limit, []Command{{Name: "PING", Fits: isPong}})
	return err
}

// surplus returns an error if there is more to read although every reply that is due was read: then
// one of those read may have been another's.
func (k *Link) surplus() error {
	if w := k.wire.Load(); w != nil && w.surplus() {
		return ErrReply
	}
	return nil
}
