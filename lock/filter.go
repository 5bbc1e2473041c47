package lock

import (
	"time"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/internal/owner"
)

// A Filter says which locks [Client.ResetAll] resets and [Client.List] lists. They are those to
// which every field applies that is set. With no field set, List lists all locks, whatever they
// hold, and ResetAll refuses to reset.
//
// With any field but All, only locks match that a process of holdfast holds: those whose value is a
// label and a ULID. Locks under an id of somebody's own, of python-redis-lock and of others do not
// match. Nor do locks that were released and are only kept until their minimum is over
// (Options.HoldAtLeast). Their holder ended well, and a clean-up after others must not cut the
// minimum short.
type Filter struct {
	// Label matches the label of the owner, whole. The owner is who took the lock, also if the lock
	// was since detached, or adopted with KeepID. With a label that only one process uses at a
	// time, this is the clean-up of what its earlier incarnation left.
	Label string

	// Host matches owners with a default label, hostname:pid, of this host. It does not ask whether
	// they live: the locks of running processes are reset too.
	Host string

	// DeadHere matches owners with a default label, hostname:pid, of this host whose process is
	// gone. An owner matches, too, whose process began only after the lock was taken. DeadHere
	// needs OnePIDNamespace, and a system that tells about processes (Unix).
	//
	// Another process may have the old one's id. That is noticed on Linux only. There it is noticed
	// only if the other process began at least 5 s after the lock was taken: clocks are stepped. If
	// the other process is this very one, that is noticed everywhere and at once. So it is in
	// containers, where the id is always 1.
	DeadHere bool

	// OnePIDNamespace states that all processes that take locks under this hostname see each
	// other's process ids. Containers of one pod, or containers on the host's network, have one
	// hostname and do not see them. There DeadHere would take the living for dead.
	OnePIDNamespace bool

	// Name matches the lock's name. In it * stands for any bytes, ? for one, all else for itself.
	Name string

	// OlderThan matches locks that were taken at least so long ago, by the owner's clock.
	OlderThan time.Duration

	// All matches whatever is there, other programs' locks and kept ones included, if the value has
	// at most 1 KiB. A longer value is no lock's id, and [Client.Reset] is there for it. List
	// leaves such a value out as well then, since it lists what ResetAll would reset. Of the other
	// fields only Name goes with All.
	All bool
}

// narrows reports whether a field is set that looks at the owner.
func (f Filter) narrows() bool {
	return f.Label != "" || f.Host != "" || f.DeadHere || f.OlderThan != 0
}

// empty reports whether no field is set that says which locks.
func (f Filter) empty() bool { return !f.All && !f.narrows() && f.Name == "" }

// check refuses filters that nothing can be done with.
func (f Filter) check() error {
	switch {
	case f.All && f.narrows():
		return invalid("the filter has All together with a field that narrows it: choose one")
	case f.OlderThan < 0:
		return invalid("the filter's OlderThan %v is negative: give an age", f.OlderThan)
	case f.DeadHere && !f.OnePIDNamespace:
		return invalid("the filter's DeadHere needs OnePIDNamespace: set it if all processes under this" +
			" hostname see each other's process ids, else use Label")
	case f.DeadHere && !owner.CanTellDead:
		return invalid("the filter's DeadHere does not work on this system: use Label")
	case !utf8.ValidString(f.Name) || len(f.Name) > maxName:
		return invalid("the filter's Name is not valid UTF-8 of at most %d bytes", maxName)
	}
	return nil
}

// match reports whether the filter applies to an owner, except for the name.
func (f Filter) match(o Owner, now time.Time) bool {
	switch {
	case f.All:
		return len(o.ID) <= maxValue
	case f.empty():
		return true
	case !o.ours() || o.Kept:
		return false
	case f.Label != "" && o.Label != f.Label:
		return false
	case f.Host != "" && o.Host != f.Host:
		return false
	case f.OlderThan > 0 && now.Sub(o.Since) < f.OlderThan:
		return false
	case f.DeadHere:
		return o.Host == owner.Hostname() && owner.Gone(o.PID, o.Since)
	}
	return true
}

// maxValue is how long an owner id may be that is reset by its value. Redis is asked for one byte
// more.
const maxValue = 1024
