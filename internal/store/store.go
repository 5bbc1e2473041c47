package store

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/signal"
)

// OperationLimit is how long one round trip to Redis may take.
const OperationLimit = 2 * time.Second

// batchSize bounds the scripts that are sent together. Redis may execute all of them before it
// turns to others.
const batchSize = 512

// BatchSize bounds what the methods that take several things are given at once.
const BatchSize = batchSize

// A Store is the Redis of one client: what can be asked of it, as methods. They may be called from
// any goroutine. Each blocks at most until its limit, by default an operation limit from the call
// on, or until its context ends.
//
// The error of a method is one of these, unless the method says more:
//
//   - one of Redis, or of the way to it. This package's functions tell what it means;
//   - [ErrReply];
//   - [ErrClosed].
type Store struct {
	Keyspace
	source   *redisconn.Source
	calls    *redisconn.Line // shared by all goroutines
	renewals *redisconn.Line // of the renewing goroutine alone, so that nothing delays it
	label    string
	client   string

	signalTTL  time.Duration
	answered   atomic.Bool // an acquire was
	loadExtend atomic.Bool // Redis does not know the extend script: send its text next time

	kinds kinds // of things that are waited for, beside locks
}

// Cut ends the connections for calls and renewals, and with them whatever waits for a reply. Wait
// connections are the hub's, which closes them itself.
func (s *Store) Cut() {
	s.calls.Close()
	s.renewals.Close()
}

// CutRenewals ends the connection for renewals: one that is under way would only be waited for.
func (s *Store) CutRenewals() { s.renewals.Close() }

// Close ends all connections, and waits for dials under way at most for the limit.
func (s *Store) Close(limit time.Duration) {
	s.Cut()
	s.source.Close(max(limit, 0))
}

// Met reports whether a connection was ever made. Before that an error is more likely a mistake in
// an address than a network that comes back.
func (s *Store) Met() bool { return s.source.Met() }

// Connections returns how many connections to Redis are open.
func (s *Store) Connections() int { return s.source.Links() }

// Misled reports whether err says that this server is the wrong one, before any acquire was
// answered. That is a mistake in an address, and no waiting helps. Later it is a failover, which
// passes.
func (s *Store) Misled(err error) bool {
	wrong := redisconn.HasCode(err, "READONLY") || redisconn.HasCode(err, "MOVED")
	return wrong && !s.answered.Load()
}

// LimitFromNow returns when an operation that begins now must have ended.
func LimitFromNow() time.Time { return time.Now().Add(OperationLimit) }

// AddKind makes a kind of things known under this name, if there is none yet.
func (s *Store) AddKind(name string, k Kind) { s.kinds.add(name, k) }

// signalOf returns the key where signals for a name are. A kind that nobody made known is taken for
// locks.
func (s *Store) signalOf(n signal.Name) string {
	if k := s.kinds.get(n.Kind); k != nil {
		return k.Signal(n.Name)
	}
	return s.signalKey(n.Name)
}

// heard takes in what a signal said. That of a lock says nothing.
func (s *Store) heard(n signal.Name, said string) {
	if k := s.kinds.get(n.Kind); k != nil {
		k.Heard(n.Name, said)
	}
}
