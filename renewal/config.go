package renewal

import "time"

// A Config describes a term to [Set.Add].
type Config struct {
	TTL       time.Duration // how long the store keeps the lease after each extend
	Margin    time.Duration // by how much the term ends before the store's; below zero means zero
	Sent      Instant       // read before the acquire was sent
	NoRenewal bool          // never extend the term, only end it in time

	// MaxHold is how long after Sent the term ends at the latest, with ErrMaxHold, however well
	// it is renewed; zero means no such limit. Renewals go on at their interval until then.
	MaxHold time.Duration

	// NoExpiry says that the store keeps the lease for ever once it was told to. The term has TTL
	// and Margin as any other until that is confirmed, by [Term.Confirm] or a Renewed result. From
	// then on it is permanent: no clock ends it, save by MaxHold.
	//
	// The ExtendFunc is still called, at the interval that TTL and Margin give, as the check of
	// whether the lease is still ours. A check that fails is repeated until one does not. With
	// NoRenewal there is no such check, so that a permanent term does not learn of its loss.
	NoExpiry bool
}

// deadlines returns until when the acquire is believed in, and Sent + MaxHold. They are kept apart
// for as long as the term lives: renewals move the first, nothing moves the second.
func (c *Config) deadlines() (lease, latest Instant) {
	lease, latest = c.Sent.add(span(c.TTL, c.Margin)), never
	if c.MaxHold != 0 {
		latest = c.Sent.add(c.MaxHold)
	}
	return lease, latest
}

// span is how long after its send a confirmed extend is believed in.
func span(ttl, margin time.Duration) time.Duration { return ttl - max(margin, 0) }

// interval is how long after the send of a confirmed extend the next one is due. A wide margin
// leaves less time to repeat one that fails, so half of what is left is the most.
func interval(ttl, margin time.Duration) time.Duration {
	return min(ttl/3, span(ttl, margin)/2)
}
