package renewal

import "time"

// A kind says which function of the Options an event is for.
type kind int

const (
	nothing kind = iota
	wasRenewed
	hasFailed
	hasEnded
)

// An event is something to be reported. It is made under the mutex and reported after the mutex was
// released, as an observer may call the set. The zero event is none.
type event[T any] struct {
	kind  kind
	term  *Term[T]
	until time.Time // of wasRenewed
	err   error     // of hasFailed and hasEnded
}

// report calls the observers. The caller must not hold s.mu.
//
// Every end is told by Ending before any other function is called. One that takes its time must not
// hold up what stops the others' jobs.
//
// Reports of two callers may overtake each other, as no mutex is held. So an observer may hear of the
// renewal of a term after its end.
func (s *Set[T]) report(events ...event[T]) {
	for _, e := range events {
		if e.kind == hasEnded && s.opts.Ending != nil {
			s.opts.Ending(e.term, e.err)
		}
	}
	for _, e := range events {
		switch {
		case e.kind == wasRenewed && s.opts.Renewed != nil:
			s.opts.Renewed(e.term, e.until)
		case e.kind == hasFailed && s.opts.Failed != nil:
			s.opts.Failed(e.term, e.err)
		case e.kind == hasEnded && s.opts.Ended != nil:
			s.opts.Ended(e.term, e.err)
		}
	}
}
