package chaos

import (
	"context"

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
		return w.call("Seize", name, stop, func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) {
			r.Kind = "Seize"
			lease, err := m.Seize(ctx)
			r.Return = w.run.now()
			r.Unsure = err != nil
			w.run.record(func(h *History) { h.Removals = append(h.Removals, r) })
			return lease, err
		})
	}
	if r.Return = w.run.now(); removed {
		w.run.record(func(h *History) { h.Removals = append(h.Removals, r) })
	}
	return false
}
