package store

import (
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// Options configure a [Store]. All are needed: whoever makes them knows the defaults.
type Options struct {
	Keys      Keyspace
	Label     string        // says whose connections and registers they are
	Client    string        // the client's id, a ULID: host and pid are not unique
	SignalTTL time.Duration // that a signal waits for a waiter, where a holding does not say otherwise
}

// New returns a store. It does no input or output. CLIENT LIST shows the label as the name of the
// store's connections. Redis allows no blanks in such a name.
func New(dialer redisconn.Dialer, o Options) *Store {
	source := redisconn.NewSource(dialer, "holdfast:"+strings.ReplaceAll(o.Label, " ", "_"))
	s := &Store{
		Keyspace:  o.Keys,
		source:    source,
		calls:     redisconn.NewLine(source),
		renewals:  redisconn.NewLine(source),
		label:     o.Label,
		client:    o.Client,
		signalTTL: o.SignalTTL,
	}
	s.AddKind(PoolKind, newPools(s))
	return s
}
