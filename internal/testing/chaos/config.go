package chaos

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// The bounds of the design: from one look of a waiter to the next, of an operation, and what the
// machine adds, which does much else.
const (
	look           = time.Second
	operationLimit = 2 * time.Second
	slack          = time.Second
)

// A Config says how a run is to be. All fields must be set but Processes, Strangers, Operator
// and Rest.
type Config struct {
	Seed      uint64        // of the programs and the faults; how they meet is up to the scheduler
	TTL       time.Duration // of the locks; work takes up to four of them
	Duration  time.Duration // of all rounds together, about
	Round     time.Duration // of the faults in one round
	Clients   int           // with faults of their own, each behind a fault proxy
	Workers   int           // of each client
	Processes int           // that use locks, and are killed and stopped
	Names     int           // of common locks
	Strangers int           // that use the common locks without this library; none with Operator

	// Operator lets locks be deleted, reset and seized while they are held. Two can believe then, for a
	// time that the rule "told" bounds; the rule "overlap" forgives only what such an act explains.
	Operator bool

	// Rest is how often the clients are left alone at the end of a round with faults until only that is
	// there what stays, which is measured then; 0: never.
	Rest time.Duration
}

// calm reports whether no faults happen in a round, and locks are only handed over.
func calm(round int) bool { return round%3 == 0 }

// random returns a source of its own for each part of a run.
func (c Config) random(part uint64) *rand.Rand { return rand.New(rand.NewPCG(c.Seed, part)) }

// names are the common locks.
func (c Config) names() []string {
	names := make([]string, c.Names)
	for i := range names {
		names[i] = "chaos-" + strconv.Itoa(i)
	}
	return names
}

// stay is the name of the lock that is taken without expiry. It has one of its own because some of its
// holders leave it held for ever, as they have to.
const stay = "chaos-stay"

// upTo returns a duration in [0, d).
func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(max(d, 1))))
}

// chance is true in so many of a hundred cases.
func chance(random *rand.Rand, percent int) bool { return random.IntN(100) < percent }

// pick returns any of them.
func pick[T any](random *rand.Rand, of []T) T { return of[random.IntN(len(of))] }
