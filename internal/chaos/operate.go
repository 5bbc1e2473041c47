package chaos

import (
	"context"
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
	if err == nil {
		l.Begin, l.End = l.Return, l.Call+d
		w.run.record(func(h *History) { h.Leases = append(h.Leases, l) })
	}
	return false
}
