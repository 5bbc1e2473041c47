package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// An event is what a worker tells the demo: one line of JSON on the pipe that all workers share.
// The system keeps lines that are written to one pipe whole and in order. So whatever follows from
// an event in another process, such as the lock going over after "unlocking", is read after it.
type event struct {
	Worker string    `json:"worker"`
	What   what      `json:"what"`
	At     time.Time `json:"at"` // by the wall clock, which all processes share
	Lock   string    `json:"lock,omitempty"`

	Label  string        `json:"label,omitempty"` // the holder's
	Since  time.Time     `json:"since,omitzero"`  // since when it holds
	Left   time.Duration `json:"left,omitempty"`  // of its TTL
	Fence  int64         `json:"fence,omitempty"`
	Waited time.Duration `json:"waited,omitempty"`
	Until  time.Time     `json:"until,omitzero"` // when the lease ends if it is not renewed
	Text   string        `json:"text,omitempty"` // of an error

	read time.Time // when the demo read it, by its monotonic clock
}

// what happened to a worker.
type what string

const (
	ready     what = "ready"     // it takes orders
	waiting   what = "waiting"   // somebody else holds the lock: once for each job
	acquired  what = "acquired"  // it holds the lock
	renewed   what = "renewed"   // its lease goes on
	unlocking what = "unlocking" // its job is done, the lock will be released now
	resetting what = "resetting" // it is about to clear what was left under its label
	reset     what = "reset"     // it cleared this lock
	idle      what = "idle"      // its order is carried out
	trouble   what = "trouble"   // something that it gets over by itself
	lost      what = "lost"      // its lease ended before the job
	failed    what = "failed"    // its order is not carried out
)

// An order is what the demo tells a worker: one line of JSON on the worker's stdin.
type order struct {
	Do   string          `json:"do"` // "work" or "clear"
	Lock string          `json:"lock,omitempty"`
	TTL  time.Duration   `json:"ttl,omitempty"`  // 0: the default
	Jobs []time.Duration `json:"jobs,omitempty"` // how long each one takes
}

// A reporter writes events. Its methods may be called from any goroutine.
type reporter struct {
	worker string

	mu  sync.Mutex // keeps lines whole, and in the order of their times
	out io.Writer
}

// tell reports an event. Nobody can be told about an error in doing so: it means that the demo has
// ended, which the worker learns from its stdin.
func (r *reporter) tell(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Worker, e.At = r.worker, time.Now()
	line, err := json.Marshal(e)
	if err == nil {
		_, _ = r.out.Write(append(line, '\n'))
	}
}
