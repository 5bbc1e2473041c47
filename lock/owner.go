package lock

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
)

// NoExpiry stands for the TTL of a lock that never expires: as an option, to take one, or as what
// is left of one.
const NoExpiry time.Duration = store.NoExpiry

// An Owner says who holds a lock.
//
// An id of holdfast's own is a label and a ULID. The label defaults to hostname:pid. The time of
// the ULID says since when. Of an id with a #, as MutexOptions.ID may be, what stands before the
// last # is the label, and Since is not set. Other programs put anything there: then Label, Host,
// PID and Since are not set.
type Owner struct {
	Name  string        // of the lock
	ID    string        // the whole id; only Client.Owner gives it, cut off after 1025 bytes
	Label string        // "" for an id without one
	Host  string        // from a label of the form hostname:pid
	PID   int           // likewise
	Since time.Time     // by the owner's clock, in milliseconds; zero for an id without a ULID
	TTL   time.Duration // left when Redis was asked, at most 100 years; NoExpiry for no expiry
	Kept  bool          // the owner has released it; nobody gets it before its HoldAtLeast is over

	// Waiters are the clients that wait for the lock, by label. Only Client.List sets Waiters. It
	// is nil if nobody waits.
	Waiters []WaitInfo
}

// A WaitInfo says that a client waits for a lock.
type WaitInfo struct {
	Label  string // the client's
	Client string // its id: a ULID, another one for each client, since a label can have several
	Count  int    // how many of its calls of Lock and Do wait; at least 1
}

// String returns who it is and since when, without the random part of the id.
func (o Owner) String() string {
	return owner.ID{Label: o.Label, Since: o.Since, Kept: o.Kept}.String()
}

// ownerOf returns who holds a lock, as its key says.
func ownerOf(name string, held *store.Held) Owner {
	id := owner.Parse(held.Owner)
	return Owner{
		Name: name, ID: held.Owner, Label: id.Label, Host: id.Host, PID: id.PID,
		Since: id.Since, TTL: held.TTL, Kept: id.Kept,
	}
}

// ours reports whether the id is one that holdfast makes.
func (o Owner) ours() bool { return !o.Since.IsZero() }

// anonymous returns o without what allows to release the lock.
func (o Owner) anonymous() Owner {
	o.ID = ""
	return o
}
