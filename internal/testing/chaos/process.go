package chaos

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// ProcessVariable is the environment variable that makes a test binary one of the processes that use
// locks: it says how. See [Process].
const ProcessVariable = "HOLDFAST_CHAOS_PROCESS"

// orders are what such a process is to do.
type orders struct {
	URL, Label string
	Names      []string
	TTL        time.Duration
	Seed       uint64
}

// A note is a line that such a process writes: it may be killed at any time, so it keeps nothing back.
type note struct {
	What  string // "call", "lease", "valid", "unlock", "unlocked", "over"
	At    time.Duration
	Name  string // of call
	Fence int64  // of lease
	Good  bool   // of unlocked: it returned nil
}

// Process is the inside of such a process: it uses locks until its stdin ends. The main function of the
// test binary calls it.
func Process() {
	var o orders
	if err := json.Unmarshal([]byte(os.Getenv(ProcessVariable)), &o); err != nil {
		panic(err) // we wrote it
	}
	client, err := lock.Open(o.URL, &lock.Options{TTL: o.TTL, Label: o.Label})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	stop := make(chan struct{})
	go func() { // ends with stdin
		defer close(stop)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	p := process{client: client, orders: o, random: rand.New(rand.NewPCG(o.Seed, 0)), out: os.Stdout}
	for !over(stop) {
		p.take(stop)
	}
}

type process struct {
	client *lock.Client
	orders orders
	random *rand.Rand
	out    io.Writer
}

// say writes a line, with the time at which it was so.
func (p process) say(n note, at time.Duration) {
	n.At = at
	line, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	_, _ = p.out.Write(append(line, '\n')) // the reader may be gone, and we will be soon
}

func clock() time.Duration {
	now, _ := monotonic()
	return now
}

// take takes a lock, holds it and releases it.
func (p process) take(stop <-chan struct{}) {
	d := patience
	if chance(p.random, 30) {
		d = upTo(p.random, 3*p.orders.TTL)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	name := pick(p.random, p.orders.Names)
	p.say(note{What: "call", Name: name}, clock())
	m := p.client.MutexWith(name, &lock.MutexOptions{NoRenewal: chance(p.random, 15)})
	lease, err := m.Lock(ctx)
	if err != nil {
		p.say(note{What: "over"}, clock())
		wait(stop, upTo(p.random, 4*time.Millisecond))
		return
	}
	p.say(note{What: "lease", Fence: lease.Fence()}, clock())
	for end := time.Now().Add(upTo(p.random, 4*p.orders.TTL)); time.Now().Before(end) && !over(stop); {
		at := clock()
		if !lease.Valid() {
			break
		}
		p.say(note{What: "valid"}, at)
		wait(stop, poll)
	}
	p.say(note{What: "unlock"}, clock())
	err = lease.Unlock(context.Background())
	p.say(note{What: "unlocked", Good: err == nil}, clock())
}
