package renewal

// An Outcome is what became of a [Request]. The zero value is [Failed].
type Outcome int

// The outcomes of a Request.
const (
	Failed   Outcome = iota // not extended as far as is known: tried again until validUntil
	Renewed                 // extended: validUntil moves
	NotOwner                // the store says that it is not ours: the term ends at once
	Again                   // not executed, send it anew at once: not a failure, not reported
)

// String names the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Renewed:
		return "renewed"
	case NotOwner:
		return "not owner"
	case Again:
		return "again"
	default:
		return "failed"
	}
}

// A Result answers a [Request]. A missing one counts as [Failed].
type Result struct {
	Outcome Outcome
	Err     error // with Failed: why. With NotOwner: who owns it now, if that is known; may be nil
}

// result is the answer to the i-th request, made good where the ExtendFunc left something out. An
// outcome that is none of ours proves nothing, so it is a failure.
func result(results []Result, i int) Result {
	var r Result
	if i < len(results) {
		r = results[i]
	}
	switch r.Outcome {
	case Renewed, NotOwner, Again:
	default:
		r.Outcome = Failed
		if r.Err == nil {
			r.Err = errUnexplained
		}
	}
	return r
}
