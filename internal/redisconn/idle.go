package redisconn

import (
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// idleFor is for how long a link must have been idle to be looked at where a look costs something.
const idleFor = time.Second

// A ground is what a link stands on, as far as that is known. The ground tells whether the other
// side has left while the link was idle, and whether it sent what nobody asked for.
//
// To use such a link is no way to find out. The command would be lost with the link, and nobody
// would know whether Redis executed it.
type ground struct {
	where     string               // the server: "redis at host:port"; "" if it is not known
	inProcess bool                 // nothing closes the link because it is idle
	wire      atomic.Pointer[Wire] // below redigo's connection; nil if that is none of NetDial's
	rested    time.Time            // since when the link is idle, where that matters
}

// on says what conn stands on: a wire, nil for none that is known, and the server's address, if it
// is known without the wire. Nothing was written on conn yet.
func (g *ground) on(conn redis.Conn, w *Wire, address string) {
	g.where = address
	_, g.inProcess = conn.(interface{ InProcess() })
	if w == nil {
		return
	}
	g.wire.Store(w)
	if address == "" {
		g.where = whereBefore + w.address
	}
}

// settle is called after the first exchange. The wire that was dialled last need not be the one
// that the link stands on: a dialer may ask several servers for the right one. The link's own wire
// has carried the exchange.
func (g *ground) settle() {
	if w := g.wire.Load(); w != nil && !w.used() {
		g.wire.Store(nil)
		g.where = ""
		g.rest()
	}
}

// first returns the error of the first exchange.
func (g *ground) first(err error) error {
	err = at(g.where, err)
	if w := g.wire.Load(); w != nil && !w.tls && closedOn(err) {
		return hinted(err, wantsTLS)
	}
	return err
}

// stale returns an error if the link cannot be used any more, although no exchange is under way:
// the other side closed the link, or sent what nobody asked for. Then the owner dials another link,
// and sends there what it was about to send: nothing is lost. The look does not block. It sees only
// connections of NetDial; for others there is blind.
func (g *ground) stale() error {
	w := g.wire.Load()
	switch {
	case w == nil:
		return nil
	case w.silent() && time.Since(g.rested) < idleFor:
		return g.surplus()
	}
	return w.look()
}

// blind reports whether the link was idle for so long that the other side may have closed it, and a
// look cannot tell. Before something is sent that would not be repeated, it takes a ping to know.
func (g *ground) blind() bool {
	return g.wire.Load() == nil && !g.inProcess && time.Since(g.rested) >= idleFor
}

// rest takes note that the link is idle from now on. Where a look costs nothing, nobody asks for
// how long, and the clock is not read after every exchange.
func (g *ground) rest() {
	if w := g.wire.Load(); w == nil || w.silent() {
		g.rested = time.Now()
	}
}

// surplus returns an error if there is more to read although every reply that is due was read. One
// of the replies that were read may then have been another call's.
func (g *ground) surplus() error {
	if w := g.wire.Load(); w != nil && w.surplus() {
		return ErrReply
	}
	return nil
}
