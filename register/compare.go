package register

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// A Comparison says how the number that is stored must stand to the given one. The zero value is
// none.
//
// With Options.Tolerance numbers that differ by no more than it are equal, in all six. Exactly one
// of Less, Equal and Greater is true of any two numbers, LessOrEqual is Less or Equal, and so on.
// So with a tolerance of 0.01, 0.995 is not Less than 1, and 1.005 is LessOrEqual.
type Comparison int

// The comparisons.
const (
	Less           Comparison = iota + 1 // stored < given
	LessOrEqual                          // stored <= given
	Equal                                // stored == given
	NotEqual                             // stored != given
	GreaterOrEqual                       // stored >= given
	Greater                              // stored > given
)

// comparisons has for each one its sign, and the relations of which it is true as register.lua
// wants them.
var comparisons = map[Comparison]struct{ sign, relations string }{
	Less:           {"<", "<"},
	LessOrEqual:    {"<=", "<="},
	Equal:          {"==", "="},
	NotEqual:       {"!=", "<>"},
	GreaterOrEqual: {">=", "=>"},
	Greater:        {">", ">"},
}

// String returns the comparison's sign, such as "<=".
func (is Comparison) String() string {
	if c, ok := comparisons[is]; ok {
		return c.sign
	}
	return fmt.Sprintf("Comparison(%d)", int(is))
}

// Options say more about a comparison and what comes of it. Nil is ready for use, and so is a
// field's zero value.
type Options struct {
	// Expiry is for how long a register that is set stays, in milliseconds, rounded up. It replaces
	// the expiry that the register had. Expiry is not for DeleteIf. Default: the register does not
	// expire.
	Expiry time.Duration

	// KeepExpiry leaves a register that is there with the expiry that it has, or has not. Expiry is
	// for an absent one then. KeepExpiry is not for DeleteIf.
	KeepExpiry bool

	// Tolerance is by how much numbers may differ that count as equal, see [Comparison]. It counts
	// as the decimal that [Float] gives, and is added and subtracted exactly. Default: 0, not at
	// all.
	Tolerance float64
}

// condition returns the first arguments of the script: the relations, and between what it is equal.
func condition(is Comparison, than Number, tolerance float64) ([]any, error) {
	c, ok := comparisons[is]
	if !ok {
		return nil, invalid("%v is no comparison: give one of Less, LessOrEqual, Equal, NotEqual,"+
			" GreaterOrEqual and Greater", is)
	}
	if err := than.check("number to compare with"); err != nil {
		return nil, err
	}
	// The first comparison is false for NaN.
	if !(tolerance >= 0) || math.IsInf(tolerance, 0) {
		return nil, invalid("the tolerance %v is out of range: give a finite number from 0 on", tolerance)
	}
	low, high := than.around(tolerance)
	return []any{c.relations, string(low), string(high)}, nil
}

// setting returns the arguments with which the script sets a register.
func setting(is Comparison, than, value Number, o *Options) ([]any, error) {
	if o == nil {
		o = &Options{}
	}
	args, err := condition(is, than, o.Tolerance)
	if err != nil {
		return nil, err
	}
	if err := value.check("value to set"); err != nil {
		return nil, err
	}
	if o.Expiry < 0 {
		return nil, invalid("the expiry %v is negative: give how long the register stays, or 0 for ever",
			o.Expiry)
	}
	keep := "0"
	if o.KeepExpiry {
		keep = "1"
	}
	return append(args, string(value), millis(o.Expiry), keep), nil
}

// deleting returns the arguments with which the script deletes a register.
func deleting(is Comparison, than Number, o *Options) ([]any, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Expiry != 0 || o.KeepExpiry {
		return nil, invalid("a register that is deleted has no expiry (Expiry %v, KeepExpiry %v):"+
			" leave them out", o.Expiry, o.KeepExpiry)
	}
	return condition(is, than, o.Tolerance)
}

// millis writes a duration in milliseconds, rounded up.
func millis(d time.Duration) string {
	ms := d / time.Millisecond
	if d%time.Millisecond > 0 {
		ms++
	}
	return strconv.FormatInt(int64(ms), 10)
}
