package lock

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
)

// NoExpiry stands for the TTL of a lock that never expires: as an option, to take one, or as what is
// left of one.
const NoExpiry time.Duration = -1

// An Owner says who holds a lock.
//
// holdfast's own ids are a label, which defaults to hostname:pid, and a ULID, whose time says since
// when. Of an id with a #, as MutexOptions.ID may be, what stands before the last # is the label, and there
// is no since. Other programs put anything there; then only Name, TTL, Kept and, from [Client.Owner], ID
// are set.
type Owner struct {
	Name  string        // of the lock
	ID    string        // the whole id; only Client.Owner gives it, cut off after 1025 bytes
	Label string        // "" for an id without one
	Host  string        // from a label of the form hostname:pid
	PID   int           // likewise
	Since time.Time     // by the owner's clock, in milliseconds; zero for an id without a ULID
	TTL   time.Duration // left when Redis was asked, at most 100 years; NoExpiry for a lock without expiry
	Kept  bool          // the owner has released it; nobody gets it before its HoldAtLeast is over
}

// String returns who it is and since when, without the random part of the id.
func (o Owner) String() string {
	who := "an owner with an id of its own choice"
	switch {
	case o.ours():
		who = fmt.Sprintf("%s since %s", o.Label, o.Since.Format(time.RFC3339))
	case o.Label != "":
		who = o.Label + ", under an id of its own"
	}
	if o.Kept {
		who += " (not held: blocked, or kept for its minimum after the release)"
	}
	return who
}

// keptSuffix ends the value of a lock that was released before its minimum was over.
const keptSuffix = "/kept"

// parseOwner takes in what a lock's key holds.
func parseOwner(name, value string, pttl int64) Owner {
	o := Owner{Name: name, ID: value, TTL: NoExpiry}
	if pttl >= 0 {
		o.TTL = fromMillis(pttl)
	}
	value, o.Kept = strings.CutSuffix(value, keptSuffix)
	o.Label, o.Since = parseID(value)
	o.Host, o.PID = splitLabel(o.Label)
	return o
}

// parseID returns the label of an owner id, "" for none, and since when it is, zero if it does not say.
func parseID(id string) (label string, since time.Time) {
	slash := len(id) - ulid.EncodedSize - 1
	if slash < 1 || id[slash] != '/' || checkLabel(id[:slash]) != nil {
		return chosenLabel(id), since
	}
	u, err := ulid.ParseStrict(id[slash+1:])
	if err != nil {
		return chosenLabel(id), since
	}
	return id[:slash], ulid.Time(u.Time())
}

// chosenLabel returns the part of an id of somebody's own choice that is no secret. The random ids of other
// programs are in base64, in hex or UUIDs: none of these has a #, while base64 has the slash.
func chosenLabel(id string) string {
	mark := strings.LastIndexByte(id, '#')
	if mark < 1 || mark == len(id)-1 || checkLabel(id[:mark]) != nil {
		return ""
	}
	return id[:mark]
}

// ours reports whether the id is one that holdfast makes.
func (o Owner) ours() bool { return !o.Since.IsZero() }

// anonymous returns o without what allows to release the lock.
func (o Owner) anonymous() Owner {
	o.ID = ""
	return o
}

// splitLabel returns the parts of a label of the form hostname:pid, else nothing.
func splitLabel(label string) (host string, pid int) {
	colon := strings.LastIndexByte(label, ':')
	if colon < 1 {
		return "", 0
	}
	pid, err := strconv.Atoi(label[colon+1:])
	if err != nil || pid < 1 || label[colon+1] == '+' {
		return "", 0
	}
	return label[:colon], pid
}

// An oldest is the time, in Unix milliseconds, of the oldest owner id with its process id that a process has
// used; 0 if it has used none. By it the locks that an earlier process with the same process id has left
// are told from its own: their ids are older, whatever the clock did since.
type oldest struct{ ms atomic.Int64 }

// oldestID is that of this process.
var oldestID oldest

// uses takes note of an owner id that is about to be used.
func (o *oldest) uses(id string) {
	owner := parseOwner("", id, -1)
	if !owner.ours() || owner.PID != os.Getpid() { // nobody takes it for ours
		return
	}
	since := owner.Since.UnixMilli()
	for old := o.ms.Load(); old == 0 || since < old; old = o.ms.Load() {
		if o.ms.CompareAndSwap(old, since) {
			return
		}
	}
}

// after reports whether all ids that were used are younger than a lock.
func (o *oldest) after(since time.Time) bool {
	ms := o.ms.Load()
	return ms == 0 || since.UnixMilli() < ms
}

// gone reports whether the process is gone that took a lock on this host. One that is found under our own
// process id is we, so that it is gone unless the lock may be ours.
func gone(pid int, since time.Time) bool {
	if pid == os.Getpid() {
		return oldestID.after(since)
	}
	return dead(pid, since)
}

// newID returns an owner id for one acquire. ULIDs made by ulid.Make would take their randomness
// from a generator seeded with the time; whoever guesses an id can release the lock.
func newID(label string) (string, error) {
	id, err := ulid.New(ulid.Now(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("lock: no randomness for an owner id: %w", err)
	}
	whole := label + "/" + id.String()
	oldestID.uses(whole)
	return whole, nil
}

// hostname returns the host's name in the form that labels have.
func hostname() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "localhost"
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || r == '{' || r == '}' {
			return '_'
		}
		return r
	}, host)
}

func defaultLabel() string { return fmt.Sprintf("%s:%d", hostname(), os.Getpid()) }
