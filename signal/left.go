package signal

import "time"

// A Left is how long a name is still held, as far as it is known: [Free], [Forever], [Foreign],
// [Unknown], or a time that [For] makes. The zero value is Unknown. Lefts can be compared.
type Left struct {
	state leftState
	time  time.Duration // of leftTime
}

type leftState int

const (
	leftUnknown leftState = iota
	leftFree
	leftForever
	leftForeign
	leftTime
)

// What is known of a name besides the time left.
var (
	Free    = Left{state: leftFree}    // nobody holds it
	Forever = Left{state: leftForever} // held without expiry
	Foreign = Left{state: leftForeign} // something else is in its place: only an ask can tell what
	Unknown = Left{}                   // it was not asked
)

// For returns that the name is held for d. A negative d is 0: the time is up.
func For(d time.Duration) Left { return Left{leftTime, max(d, 0)} }

// Time returns for how long the name is held. It returns false for anything that For did not make.
func (l Left) Time() (time.Duration, bool) { return l.time, l.state == leftTime }

// held reports whether somebody holds the name.
func (l Left) held() bool { return l.state == leftTime || l.state == leftForever }

func (l Left) String() string {
	switch l.state {
	case leftFree:
		return "free"
	case leftForever:
		return "for ever"
	case leftForeign:
		return "foreign"
	case leftTime:
		return l.time.String()
	}
	return "unknown"
}
