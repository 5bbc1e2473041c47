package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// keepAlive is after how much silence the kernel asks whether the other side is there.
const keepAlive = 15 * time.Second

// NetDial returns a function that dials a [Wire]: over TLS if the configuration is not nil.
func NetDial(config *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		d := net.Dialer{KeepAlive: keepAlive}
		socket, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		t := newTap(socket)
		w := newWire(t, t, addr)
		if config != nil {
			c, err := handshake(ctx, t, config, addr)
			if err != nil {
				_ = socket.Close()
				return nil, at(whereBefore+addr, err)
			}
			w = newWire(c, t, addr)
		}
		recordWire(ctx, w)
		return w, nil
	}
}

// handshake begins TLS. The server must have the name that addr begins with, if the configuration says
// no other.
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
