package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// A History is what happened in one round. All times are since the run's begin, by one monotonic clock.
type History struct {
	Config Config
	Round  int
	Calm   bool             // there were no faults; locks were only handed over
	Before map[string]int64 // the greatest fencing token of each name in earlier rounds

	Unharmed []int // clients for whom alone no fault was

	Leases   []Lease
	Waits    []Wait
	Free     []Free
	Faults   []Fault
	Removals []Removal
	Changes  []Change
	Seen     []string // what breaks a rule by itself
	Figures  *Figures // at the end of the round; nil: not measured
}

// A Lease is one lease that a call returned, or a time for which Block keeps everybody away.
type Lease struct {
	Name         string
	Client       int
	Worker       int
	How          string // Lock, TryLock, Do, Adopt, Seize, Block, also of a pool; Relay, Process
	Call, Return time.Duration

	// The worker's belief. There was none if End is before Begin.
	Begin, End time.Duration

	Fence    int64         // 0: none
	Longest  time.Duration // no more than what is added to the time of a confirmed extend
	AtLeast  time.Duration // HoldAtLeast
	Released bool          // Unlock returned nil

	// When Unlock was called, and returned; both 0 if it was not, or by Do.
	Unlock, Unlocked time.Duration
}

func (l Lease) believed() bool { return l.End >= l.Begin }

func (l Lease) String() string {
	return fmt.Sprintf("%s %s by client %d worker %d, called %v, returned %v, believed %v to %v, fence %d",
		l.Name, l.How, l.Client, l.Worker, l.Call, l.Return, l.Begin, l.End, l.Fence)
}

// A Wait is one call of Lock or Do, until it had the lock or gave up.
type Wait struct {
	Name         string // of the pool, for any of its members
	Client       int
	Call, Return time.Duration
}

// A Free is a time during which Redis said, whenever it was asked, that nobody holds the lock, and
// during which nobody got it. It is no longer than that was so.
type Free struct {
	Name     string
	Pool     string // also, that it belonged to this pool; or ""
	From, To time.Duration
}

// A Fault is a time during which a client cannot be expected to get a lock. What takes no time still
// starts the waiting anew.
type Fault struct {
	Kind     string
	Client   int // everybody: -1
	From, To time.Duration
}

// A Removal is what an operator did to a lock that was held.
type Removal struct {
	Kind         string
	Name         string
	Call, Return time.Duration
	Unsure       bool // it may not have happened, or later than Return
}

// A Change adds a member to the pool or takes one out.
type Change struct {
	Name         string // of the member's lock
	Out          bool
	Call, Return time.Duration
	Unsure       bool // it may not have happened, or later than Return
}

// Write writes the history to a file, as JSON.
func (h *History) Write(path string) error {
	text, err := json.MarshalIndent(h, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// Read reads what Write wrote.
func Read(path string) (*History, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := new(History)
	return h, json.Unmarshal(text, h)
}

// A recorder collects a round's history from all goroutines.
type recorder struct {
	began time.Time

	mu sync.Mutex // guards the history
	h  *History
}

func (r *recorder) now() time.Duration { return time.Since(r.began) }

func (r *recorder) record(add func(h *History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(r.h)
}

func (r *recorder) seen(format string, args ...any) {
	text := fmt.Sprintf("%v: ", r.now()) + fmt.Sprintf(format, args...)
	r.record(func(h *History) { h.Seen = append(h.Seen, text) })
}

func (r *recorder) fault(f Fault) { r.record(func(h *History) { h.Faults = append(h.Faults, f) }) }
