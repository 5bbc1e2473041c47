package lock

import "time"

// DefaultTTL is the TTL of locks for which none is chosen.
const DefaultTTL = 30 * time.Second

// operationLimit is how long one round trip to Redis may take.
const operationLimit = 2 * time.Second

// Options configure a [Client]. Nil is ready for use, and so is a field's zero value.
type Options struct {
	// Prefix is put before every key, so that several applications can share a database: the lock N
	// is the key <prefix>lock:N. It must contain neither "lock:" nor "lock-". Default: none, which
	// is what python-redis-lock uses.
	Prefix string

	// Label says who holds a lock: printable ASCII, at most 512 bytes, without braces and not ending
	// in a colon and a number. Give each deployed incarnation a label of its own, used by one process
	// at a time, if it is to clean up after itself at start with [Client.ResetAll]. Default:
	// hostname:pid.
	Label string

	// TTL is how long a lock outlives its last renewal: 50 ms to 24 h. Default: [DefaultTTL].
	TTL time.Duration

	// Margin is how long before the key's expiry a lease ends: the time that the job needs to stop.
	// Default: TTL/20, at least 10 ms.
	Margin time.Duration

	// NoRenewal leaves leases to end after their TTL. Default: they are renewed.
	NoRenewal bool

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

func (o *Options) label() string {
	if o == nil || o.Label == "" {
		return defaultLabel()
	}
	return o.Label
}

func (o *Options) ttl() time.Duration {
	if o == nil || o.TTL == 0 {
		return DefaultTTL
	}
	return o.TTL
}

func (o *Options) margin() time.Duration {
	if o == nil {
		return 0
	}
	return o.Margin
}

func (o *Options) noRenewal() bool   { return o != nil && o.NoRenewal }
func (o *Options) keepOnClose() bool { return o != nil && o.KeepOnClose }

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
	return o.settings().check()
}

// MutexOptions differ from the client's options for one [Mutex]. A zero field means the client's.
type MutexOptions struct {
	TTL       time.Duration // as in Options
	Margin    time.Duration // as in Options
	NoRenewal bool          // as in Options; a client without renewal cannot be overruled
	Label     string        // as in Options
}

// settings are what a mutex goes by.
type settings struct {
	ttl       time.Duration
	margin    time.Duration // 0: the default for the TTL of the moment
	noRenewal bool
	label     string
}

func (o *Options) settings() settings {
	return settings{ttl: o.ttl(), margin: o.margin(), noRenewal: o.noRenewal(), label: o.label()}
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
		s.label = o.Label
	}
	if o.TTL != 0 {
		s.ttl = o.TTL
	}
	if o.Margin != 0 {
		s.margin = o.Margin
	}
	s.noRenewal = s.noRenewal || o.NoRenewal
	return s, s.check()
}

func (s settings) check() error {
	if err := checkTTL(s.ttl); err != nil {
		return err
	}
	return checkMargin(s.marginFor(s.ttl), s.ttl)
}

// marginFor returns the margin of a lease with this TTL.
func (s settings) marginFor(ttl time.Duration) time.Duration {
	if s.margin != 0 {
		return s.margin
	}
	return defaultMargin(ttl)
}
