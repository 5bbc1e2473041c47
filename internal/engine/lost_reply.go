package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/janitor"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A lostReply is the acquire of a call whose reply was lost: Redis may have executed it, or may do
// so yet. The zero value is none. One of three things becomes of it:
//   - It is repeated under the same id, and Redis answers: settled.
//   - It is given to the janitor, which releases whatever it may have taken, again and again for as
//     long as it may be executed.
//   - It was sent under an id that the user chose, and is left to expire: somebody else may hold the
//     target under that id. The call is not sent again.
type lostReply struct {
	order  Order     // its ID is "" if no acquire is in doubt that is repeated
	try    Try       // nil if there is none
	until  time.Time // when it has expired, if it was executed
	gaveUp time.Time // when it was given up
	stray  bool      // one under a chosen id is in doubt, and stays so
}

// inDoubt reports whether there is an acquire to repeat.
func (r *lostReply) inDoubt() bool { return r.try != nil }

// unknown reports whether the call's outcome is not known.
func (r *lostReply) unknown() bool { return r.inDoubt() || r.stray }

// note takes note of an acquire whose outcome is not known. Under a chosen id it stays in doubt for
// the rest of the call: a repeat that finds the id there could not tell our acquire from somebody
// else's.
func (r *lostReply) note(o Order, t Try) {
	if o.Chosen {
		r.stray = true
		return
	}
	r.order, r.try, r.gaveUp = o, t, time.Now()
	r.until = r.gaveUp.Add(o.TTL + store.OperationLimit)
}

// settled says that Redis has answered the repeat. When the earlier acquire was given up stays known:
// what else it may take is released by that.
func (r *lostReply) settled() { r.order.ID, r.try = "", nil }

// cleanUp gives the acquire in doubt to the janitor. It does nothing if none is.
func (r *lostReply) cleanUp(j *janitor.Janitor, due time.Time) {
	if !r.inDoubt() {
		return
	}
	r.order.Repeat = true
	r.release(j, r.try.MayHold(r.order), due)
	r.settled()
}

// release has released from due on what the acquire may have taken.
func (r *lostReply) release(j *janitor.Janitor, h store.Holding, due time.Time) {
	j.AddLate(janitor.Task{What: h, Due: due, Until: r.until}, r.gaveUp)
}
