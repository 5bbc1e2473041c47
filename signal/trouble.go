package signal

import "time"

// maxTrouble bounds the errors that are kept for a name.
const maxTrouble = 4

// A trouble is an error met while waiting.
type trouble struct {
	err error
	at  time.Time
}

// troubles are the last errors met, oldest first.
type troubles []trouble

// note keeps an error. Of two with the same text the newer one stays. A store that is away for an
// hour must not push out what else there was.
func (all *troubles) note(err error, now time.Time) {
	kept := (*all)[:0]
	for _, t := range *all {
		if t.err.Error() != err.Error() {
			kept = append(kept, t)
		}
	}
	if len(kept) == maxTrouble {
		kept = kept[1:]
	}
	*all = append(kept, trouble{err, now})
}

// since returns the errors met since then.
func (all troubles) since(then time.Time) (errs []error) {
	for _, t := range all {
		if !t.at.Before(then) {
			errs = append(errs, t.err)
		}
	}
	return errs
}
