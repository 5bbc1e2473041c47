package redisconn

import (
	"context"
	"net"
)

// Over returns a [Wire] over a connection that somebody else has dialled under ctx, where [NetDial] would
// have dialled one: over a simulated network.
func Over(ctx context.Context, socket net.Conn, address string) *Wire {
	t := newTap(socket)
	w := newWire(t, t, address)
	recordWire(ctx, w)
	return w
}
