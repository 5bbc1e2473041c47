// Package contract is what the API of package lock promises, as one suite that runs on any server
// that it is to work with: [Run].
//
// Its checks use the public API, and plain commands to play somebody else. They wait for events, with
// TTLs of a second or more, and share a server: each has names of its own. Those that disturb others
// run alone.
package contract

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// A Backend is a server to hold the API against.
type Backend struct {
	// Client returns a client of the server that is closed at the end of the test.
	Client func(t testing.TB, o *lock.Options) *lock.Client
	// Do sends a command as somebody else would. An error ends the test.
	Do func(t testing.TB, command string, args ...any) any
	// Hang has the server answer nobody for d. It does not block. Nil: CLIENT PAUSE does it.
	Hang func(t testing.TB, d time.Duration)
	// Lacks says what the server cannot do, and why: the checks that need it are skipped.
	Lacks map[Capability]string
}

// On is the server at s, with whatever of it is ours.
func On(s *redistest.Server) Backend {
	b := Backend{
		Client: func(t testing.TB, o *lock.Options) *lock.Client {
			t.Helper()
			c, err := lock.Open(s.URL(), o)
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		},
		Do: s.Do,
	}
	if !s.Ours() {
		b.Lacks = map[Capability]string{Reconfiguring: "it is not ours"}
	}
	return b
}

// A Capability is something that a server can lack.
type Capability string

const (
	// Blocking is that waiters are woken by BLPOP. A server that turns out to lack it without saying
	// so fails every check in which somebody waits.
	Blocking Capability = "BLPOP"
	// ClientList is that CLIENT LIST tells of the connections that there are, and CLIENT KILL ends one.
	ClientList Capability = "CLIENT LIST"
	// Hanging is that the server can be made to answer nobody for a while.
	Hanging Capability = "CLIENT PAUSE"
	// Reconfiguring is that CONFIG SET may change the server, which is nobody else's then.
	Reconfiguring Capability = "CONFIG SET"
)

// A check is one promise, held against a server.
type check struct {
	name  string
	needs Capability // "" for none
	alone bool       // it disturbs others on the same server, or keeps it busy
	run   func(*env)
}

// atOnce is how many checks run at the same time. They wait, most of the time, and so are not bound
// by how many tests the processors can run.
const atOnce = 8

// Run holds the API against a server: each promise is a subtest. Nothing of it is left there but keys
// that expire within seconds. Meanwhile the server forgets its scripts, and hangs for some seconds if it
// does not lack that.
func Run(t *testing.T, b Backend) {
	t.Helper()
	mark := "contract-" + strings.ToLower(rand.Text()[:10])
	defer sweep(t, b, mark)
	run := func(c check) {
		t.Run(c.name, func(t *testing.T) {
			if why, lacks := b.Lacks[c.needs]; lacks {
				redistest.Skip(t, "the server lacks "+string(c.needs)+": "+why)
			}
			c.run(&env{T: t, backend: b, mark: mark + "-" + strings.ToLower(rand.Text()[:4])})
		})
	}
	checks := make(chan check)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(checks)
	for _, c := range all() {
		if c.alone {
			run(c)
		}
	}
	for range atOnce {
		workers.Go(func() { // ends with the checks; Run waits for it
			for c := range checks {
				run(c)
			}
		})
	}
	for _, c := range all() {
		if !c.alone {
			checks <- c
		}
	}
}

// all returns every check.
func all() []check {
	var checks []check
	for _, part := range [][]check{
		taking, naming, waiting, waking, holding, lengthening, ending, looking, watching, bounding,
		handing, forcing, lasting, failing, sparing,
	} {
		checks = append(checks, part...)
	}
	return checks
}

// sweep deletes what the checks have left: fencing tokens, as a rule.
func sweep(t *testing.T, b Backend, mark string) {
	for cursor := "0"; ; {
		reply, err := redis.Values(b.Do(t, "SCAN", cursor, "MATCH", "*"+mark+"*", "COUNT", 1000), nil)
		var keys []string
		if err == nil {
			_, err = redis.Scan(reply, &cursor, &keys)
		}
		if err != nil {
			t.Errorf("SCAN: %v", err)
			return
		}
		for _, key := range keys {
			b.Do(t, "DEL", key)
		}
		if cursor == "0" {
			return
		}
	}
}
