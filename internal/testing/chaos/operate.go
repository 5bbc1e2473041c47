package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// operate does what takes a lock away from whoever holds it. It returns whether it held the lock.
func (w *worker) operate(name string, stop <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := Removal{Name: name, Call: w.run.now()}
	removed := false
	switch w.random.IntN(3) {
	case 0:
		r.Kind = "DEL"
		removed = w.run.deleted(name)
	case 1:
		r.Kind = "Reset"
		_, held, err := w.seat.current().Reset(ctx, name)
		removed, r.Unsure = held || err != nil, err != nil
	default:
		return w.call(w.seize(name), stop)
	}
	if r.Return = w.run.now(); removed {
		w.run.record(func(h *History) { h.Removals = append(h.Removals, r) })
	}
	return false
}

// seize takes a lock whoever holds it.
func (w *worker) seize(name string) order {
	o := w.order("Seize", name)
	m := o.mutex()
	o.take = func(ctx context.Context) (*lock.Lease, error) {
		r := Removal{Kind: "Seize", Name: name, Call: w.run.now()}
		lease, err := m.Seize(ctx)
		r.Return, r.Unsure = w.run.now(), err != nil
		w.run.record(func(h *History) { h.Removals = append(h.Removals, r) })
		return lease, err
	}
	return o
}

// block keeps everybody from a lock. That is a belief without a lease: from the call's return until what
// it asked for is over, counted from the call, nobody may have the lock.
func (w *worker) block(name string) bool {
	ctx, cancel := w.context(name)
	defer cancel()
	d := 50*time.Millisecond + upTo(w.random, w.run.cfg.TTL)
	l := Lease{
		Name: name, How: "Block", Client: w.seat.index, Worker: w.index, Call: w.run.now(), Longest: d,
	}
	err := w.seat.current().Block(ctx, name, d)
	l.Return = w.run.now()
	w.returned(ctx, order{how: l.How, name: name}, l.Call, l.Return, err)
	l.Begin, l.End = l.Return, l.Call+d
	if err == nil || errors.Is(err, lock.ErrUnknown) {
		w.run.record(func(h *History) { h.blocked(l, err == nil) })
	}
	return false
}

// blocked takes in a Block that was done, or may have been. It changes what the same client blocks, which
// then ends when this one says. Of two that were called at the same time nobody knows which came last.
func (h *History) blocked(l Lease, done bool) {
	for i := range h.Leases {
		p := &h.Leases[i]
		switch {
		case p.How != l.How || p.Name != l.Name || p.Client != l.Client || p.End <= l.Call:
		case p.Return > l.Call:
			p.End, done = p.Begin-1, false
		default:
			p.End = l.Call
		}
	}
	if done {
		h.Leases = append(h.Leases, l)
	}
}
