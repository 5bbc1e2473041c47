package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// keepAlive is after how much silence the kernel asks whether the other side is there.
const keepAlive = 15 * time.Second

// NetDial returns a function that dials a [Wire]: over TLS if the configuration is not nil. The
// function blocks until ctx ends at most, and never longer than a dial may take.
func NetDial(config *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		d := net.Dialer{KeepAlive: keepAlive}
		socket, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if config == nil {
			return Over(ctx, socket, addr), nil
		}
		t := newTap(socket)
		c, err := handshake(ctx, t, config, addr)
		if err != nil {
			_ = socket.Close()
			return nil, at(whereBefore+addr, err)
		}
		w := newWire(c, t, addr)
		recordWire(ctx, w)
		return w, nil
	}
}

// handshake begins TLS. The server must have the name that addr begins with, if the configuration
// says no other. A server that closes, or answers otherwise, may not speak TLS at all.
func handshake(ctx context.Context, t *tap, config *tls.Config, addr string) (*tls.Conn, error) {
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	c := tls.Client(t, config)
	err := c.HandshakeContext(ctx)
	var plain tls.RecordHeaderError
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, context.DeadlineExceeded):
		err = ErrTimeout
	case !errors.As(err, &plain) && !closedOn(err):
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return nil, hinted(at(whereBefore+addr, fmt.Errorf("TLS handshake: %w", err)), speaksTLS)
}

// Over returns a [Wire] over a connection that somebody else has dialled under ctx, where [NetDial]
// would have dialled one: over a simulated network.
func Over(ctx context.Context, socket net.Conn, address string) *Wire {
	t := newTap(socket)
	w := newWire(t, t, address)
	recordWire(ctx, w)
	return w
}

// A recorder learns which wires are dialled under a context that has it as the value of
// recorderKey. redigo does not tell on what its connections stand, and a dialer of the user's hides
// the call of [NetDial].
type recorder struct{ last atomic.Pointer[Wire] }

type recorderKey struct{}

// recordWire tells the recorder of ctx, if there is one, that w was dialled.
func recordWire(ctx context.Context, w *Wire) {
	if r, ok := ctx.Value(recorderKey{}).(*recorder); ok {
		r.last.Store(w)
	}
}

// wire returns the last wire that was dialled; nil if none was. Nothing counts as written on it
// yet.
func (r *recorder) wire() *Wire {
	w := r.last.Load()
	if w != nil {
		w.forget()
	}
	return w
}
