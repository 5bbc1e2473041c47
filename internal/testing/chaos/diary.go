package chaos

import (
	"bytes"
	"encoding/json"
	"time"
)

// A diary makes a history of what a process writes. It is its stdout, and used by one goroutine at a time.
type diary struct {
	run    *run
	client int
	offset time.Duration // by which the common clock is ahead of the run's

	part  []byte // of a line
	wait  *Wait  // that goes on; or nil
	lease *Lease
}

// Write takes note of whole lines.
func (d *diary) Write(text []byte) (int, error) {
	d.part = append(d.part, text...)
	for {
		line, rest, whole := bytes.Cut(d.part, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		var n note
		if err := json.Unmarshal(line, &n); err != nil {
			d.run.seen("a process writes %q", line)
		} else {
			d.note(n, n.At-d.offset)
		}
		d.part = rest
	}
}

func (d *diary) note(n note, at time.Duration) {
	switch n.What {
	case "call":
		d.wait = &Wait{n.Name, d.client, at, at}
	case "lease":
		d.lease = &Lease{
			Name: d.wait.Name, How: "Process", Client: d.client, Worker: d.client, Call: d.wait.Call,
			Return: at, Begin: at, End: at - 1, Fence: n.Fence, Longest: d.run.cfg.TTL,
		}
		d.waited(at)
	case "valid":
		d.lease.End = at
	case "unlock":
		d.lease.Unlock = at
	case "unlocked":
		d.lease.Unlocked, d.lease.Released = at, n.Good
		d.held()
	case "over":
		d.waited(at)
	}
}

// close ends what goes on: the process is gone.
func (d *diary) close() {
	if d.wait != nil {
		d.waited(d.run.now())
	}
	if d.lease != nil {
		d.held()
	}
}

func (d *diary) waited(at time.Duration) {
	d.wait.Return = at
	w := *d.wait
	d.run.record(func(h *History) { h.Waits = append(h.Waits, w) })
	d.wait = nil
}

func (d *diary) held() {
	l := *d.lease
	d.run.record(func(h *History) { h.Leases = append(h.Leases, l) })
	d.lease = nil
}
