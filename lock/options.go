package lock

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Options configure a [Client]. Nil is ready for use, and so is a field's zero value.
type Options struct {
	// Prefix is put before every key, so that several applications can share a database. The lock N
	// is the key <prefix>lock:N. Prefix must contain neither "lock:" nor "lock-". In Redis Cluster
	// it needs a hash tag, as in "{app}:". All keys are in one slot then, whose server must be
	// dialled. Default: none, which is what python-redis-lock uses.
	Prefix string

	// KeyFormat is how the key of a lock is made from its name, for which %s stands. With another
	// format than that of python-redis-lock, programs that lock in another way share locks with
	// holdfast. Such a program must put a value there that only it knows, with SET NX and a TTL.
	// The format is "%s" for redis-py, retools and bsm/redislock, whose key is the bare name. They
	// push no signal when they release. So waiters here find the lock free by their timers and by
	// looking once a second. The locks of one name in two formats are two locks.
	//
	// If nothing stands before %s, and there is no Prefix, locks cannot be told from other keys.
	// Then [Client.ResetAll] and [Client.List] take only values that are a label and a ULID, and
	// All is refused. A format, or a name in it, that makes a key beginning with "lock-" is
	// refused. So are names that make a key beginning with "lock:" in a format that has
	// something else before %s. Default: "lock:%s".
	KeyFormat string

	// SignalTTL is how long the signal of a release waits for a waiter: 50 ms to 366 days. A signal
	// that expires unread costs waiters up to 1 s, until their next look. A signal that nobody
	// waits for wakes the next waiter once for nothing. python-redis-lock calls it signal_expire.
	// Default: 1 s.
	SignalTTL time.Duration

	// Label says who holds a lock. It is printable ASCII, at most 512 bytes, without braces and not
	// ending in a colon and a number. A deployed incarnation can clean up after itself at start
	// with [Client.ResetAll]. Give it a label of its own for that, used by one process at a time.
	// An owner's id then shows neither host nor process, unless the label does. Default:
	// hostname:pid.
	Label string

	// TTL is how long a lock outlives its last renewal: 50 ms to 366 days. A job that runs for long
	// does not need a long TTL: the lock is renewed. A long TTL is for NoRenewal, as for a weekly
	// job that nobody else may start. A crash keeps the lock for that long. Default: 30 s.
	//
	// [NoExpiry] is for a lock that stays until it is released, whatever becomes of its holder.
	// Only somebody who resets it ends it then. Such a lock is taken with a TTL of 30 s. A second
	// command makes it permanent before Lock returns. If that command fails, the renewing goroutine
	// makes it permanent. The client looks after such a lock every 10 s. The lock gets its 30 s
	// back where it is left to expire: by MaxHold, by a lease that was dropped, by Close with
	// KeepOnClose.
	TTL time.Duration

	// Margin is how long before the key's expiry a lease ends: the time that the job needs to stop.
	// Default: TTL/20, at least 10 ms, and at most the larger of 1 min and TTL/1,000.
	// [Client.Close] waits for the margin: with a TTL of 7 days for 10 minutes. Unlock first, or
	// give a shorter margin.
	Margin time.Duration

	// NoRenewal leaves leases to end after their TTL. Default: they are renewed. NoRenewal does not
	// go with NoExpiry: nobody would notice that the lock was lost.
	NoRenewal bool

	// MaxHold is for how long a lease may be held, from the acquire on: 50 ms or more. Then the
	// lease ends, and its error Is [ErrMaxHold] and [ErrLost]. The key is left to expire with the
	// TTL that it has then. So a job that hangs does not keep its lock for ever. Default: no limit.
	MaxHold time.Duration

	// HoldAtLeast is for how long nobody else gets the lock after Lock or TryLock returned, even if
	// it is released earlier. It is up to 366 days, and not more than MaxHold. It is for jobs that
	// several hosts start at the same time, by clocks that differ, with [Mutex.TryLock]. A lease
	// that ended otherwise than by Unlock keeps no minimum. Default: none.
	HoldAtLeast time.Duration

	// NoFence takes locks without a fencing token, which spares Redis a key for each name, and some
	// time. [Lease.Fence] is 0 then. Default: each lease has one.
	NoFence bool

	// MaxWaiters bounds how many calls of Lock may wait at the same time in this client. One more
	// is refused with [ErrTooManyWaiters]. Default: no limit.
	MaxWaiters int

	// KeepOnClose lets Close leave the keys of held leases to expire instead of releasing them.
	KeepOnClose bool

	// Hooks are told what happens. Default: nobody is.
	Hooks Hooks
}

func (o *Options) prefix() string {
	if o == nil {
		return ""
	}
	return o.Prefix
}

func (o *Options) keyFormat() string {
	if o == nil || o.KeyFormat == "" {
		return store.DefaultFormat
	}
	return o.KeyFormat
}

// keyspace returns how things are called in Redis.
func (o *Options) keyspace() store.Keyspace { return store.NewKeyspace(o.prefix(), o.keyFormat()) }

func (o *Options) signalTTL() time.Duration {
	if o == nil || o.SignalTTL == 0 {
		return defaultSignalTTL
	}
	return o.SignalTTL
}

func (o *Options) label() string {
	if o == nil || o.Label == "" {
		return owner.DefaultLabel()
	}
	return o.Label
}

func (o *Options) ttl() time.Duration {
	if o == nil || o.TTL == 0 {
		return 30 * time.Second
	}
	return o.TTL
}

func (o *Options) keepOnClose() bool { return o != nil && o.KeepOnClose }

func (o *Options) maxWaiters() int {
	if o == nil {
		return 0
	}
	return o.MaxWaiters
}

func (o *Options) hooks() Hooks {
	if o == nil {
		return Hooks{}
	}
	return o.Hooks
}

// check refuses options that cannot work.
func (o *Options) check() error {
	if o != nil && o.Label != "" {
		if err := checkOwnLabel(o.Label); err != nil {
			return err
		}
	}
	if err := checkPrefix(o.prefix()); err != nil {
		return err
	}
	if err := checkKeyFormat(o.keyFormat()); err != nil {
		return err
	}
	if n := o.maxWaiters(); n < 0 {
		return invalid("MaxWaiters %d is negative: give how many may wait, or 0 for no limit", n)
	}
	return o.settings().check()
}

// None stands for no limit, where zero means the client's: as MutexOptions.MaxHold or
// MutexOptions.HoldAtLeast.
const None time.Duration = -1

// MutexOptions differ from the client's options for one [Mutex]. A zero field means the client's.
type MutexOptions struct {
	TTL         time.Duration // as in Options
	Margin      time.Duration // as in Options
	NoRenewal   bool          // as in Options
	Renew       bool          // overrules the NoRenewal of the client's options; not with NoRenewal
	MaxHold     time.Duration // as in Options; None: no limit, whatever the client's options say
	HoldAtLeast time.Duration // as in Options; None: no minimum, whatever the client's options say
	NoFence     bool          // as in Options; a client without fencing cannot be overruled
	Label       string        // as in Options; not together with ID

	// SignalTTL is as in Options, for the releases of this lock's leases, those in the background
	// included. [Client.Reset], [Client.ResetAll] and [Client.ReleaseID] go by the client's, since
	// they know no more than the name. So does a waiter that gives back a signal which it did not
	// use.
	SignalTTL time.Duration

	// ID is the owner id under which Lock and TryLock take the lock, instead of a fresh one each
	// time. It is 1 to 512 bytes of printable ASCII. It is compared as it is with what Adopt,
	// ReleaseID and python-redis-lock are given. Whoever knows the ID can adopt and release the
	// lock.
	//
	// What stands before the last # of the ID is no secret. List, errors and hooks call the holder
	// so, as a Label: "worker-7#9f2c61" is "worker-7". With no #, nothing of the ID is shown.
	//
	// If the lock is held under the ID already, Lock and TryLock fail with [ErrAlreadyHeld]. An
	// acquire of unknown outcome is neither repeated nor cleaned up, but left to expire. ID does
	// not go with NoFence: the fencing token tells two leases of one id apart.
	ID string

	// KeepID has [Mutex.Adopt] leave the id as it is instead of putting a fresh one in its place.
	// Adopt says what that costs. KeepID does not go with NoFence: the fencing token tells two
	// leases of one id apart.
	KeepID bool
}

// settings are what a mutex goes by.
type settings struct {
	engine.Settings
	id     string // chosen by the user; "" for a fresh one each time
	keepID bool
}

func (o *Options) settings() settings {
	var s settings
	s.Label, s.Signal = o.label(), o.signalTTL()
	s.setTTL(o.ttl())
	if o != nil {
		s.Margin, s.NoRenewal = o.Margin, o.NoRenewal
		s.MaxHold, s.AtLeast, s.NoFence = orNone(o.MaxHold), orNone(o.HoldAtLeast), o.NoFence
	}
	return s
}

func (s *settings) setTTL(ttl time.Duration) {
	s.TTL, s.NoExpiry = ttl, ttl == NoExpiry
	if s.NoExpiry {
		s.TTL = engine.NoExpiryTTL
	}
}

// orNone returns a limit: 0 for none.
func orNone(limit time.Duration) time.Duration {
	if limit == None {
		return 0
	}
	return limit
}

// with returns the settings changed by o.
func (s settings) with(o *MutexOptions) (settings, error) {
	if o == nil {
		return s, nil
	}
	if o.Label != "" {
		if err := checkOwnLabel(o.Label); err != nil {
			return s, err
		}
		s.Label = o.Label
	}
	if o.TTL != 0 {
		s.setTTL(o.TTL)
	}
	s.Margin = cmp.Or(o.Margin, s.Margin)
	s.MaxHold = orNone(cmp.Or(o.MaxHold, s.MaxHold))
	s.AtLeast = orNone(cmp.Or(o.HoldAtLeast, s.AtLeast))
	s.Signal = cmp.Or(o.SignalTTL, s.Signal)
	s.NoRenewal = (s.NoRenewal || o.NoRenewal) && !o.Renew
	s.NoFence = s.NoFence || o.NoFence
	s.id, s.keepID = o.ID, o.KeepID
	if o.NoRenewal && o.Renew {
		return s, invalid("NoRenewal does not go with Renew: leave one of them out")
	}
	if s.id != "" {
		if err := checkID(s.id); err != nil {
			return s, err
		}
		if o.Label != "" {
			return s, invalid("ID does not go with Label %.40q, which begins the ids that the client makes:"+
				" leave it out, and write it into the ID with a # behind it, which is shown as a label", o.Label)
		}
	}
	return s, s.check()
}

// check refuses settings that cannot work, alone or together.
func (s settings) check() error {
	if err := checkTTL(s.TTL); err != nil {
		return err
	}
	if err := checkMargin(s.MarginFor(s.TTL), s.TTL); err != nil {
		return err
	}
	if err := checkHolds(s.MaxHold, s.AtLeast); err != nil {
		return err
	}
	if err := checkSignalTTL(s.Signal); err != nil {
		return err
	}
	switch {
	case s.NoExpiry && s.NoRenewal:
		return invalid("NoExpiry does not go with NoRenewal: nobody would notice that the lock was lost;" +
			" leave one of them out")
	case s.NoFence && s.id != "":
		return invalid("ID does not go with NoFence: the fencing token tells two leases of one id apart;" +
			" leave one of them out")
	case s.NoFence && s.keepID:
		return invalid("KeepID does not go with NoFence: the fencing token tells two leases of one id" +
			" apart; leave one of them out")
	}
	return nil
}
