package register

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"

	"github.com/holdfast-go/holdfast/lock"
)

// A Number is a decimal number as text of at most 400 bytes. It has digits, and may have a sign, a
// point, and an exponent of up to three digits. Write it as a constant, "7" or "-1.5e-3", or make
// it with [Int] or [Float].
//
// Numbers count as what is written, exactly. "7", "7.0" and "70e-1" are equal, and no digit is lost
// in a conversion to another type. There is no NaN and no infinity.
//
// The zero value is no number. Where something was read, it stands for nothing.
type Number string

const maxNumber = 400 // bytes: a float64 written out with all its digits before the point has 309

// form is what register.lua takes for a number too.
var form = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)

// Int returns a whole number.
func Int(n int64) Number { return Number(strconv.FormatInt(n, 10)) }

// Float returns the shortest decimal that reads back as f, as Python and JavaScript write it. Of
// 0.1 that is 0.1, and not the binary fraction next to it. A whole number that an int64 can hold
// comes with all its digits. NaN and the infinities give what every method refuses.
func Float(f float64) Number {
	size := math.Abs(f)
	switch {
	case f == math.Trunc(f) && f >= math.MinInt64 && f < 1<<63:
		return Int(int64(f))
	case size >= 1e-6 && size < 1e21:
		return Number(strconv.FormatFloat(f, 'f', -1, 64))
	}
	return Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// Int64 returns n if it is whole and an int64 can hold it, however it is written. Otherwise the
// error Is [lock.ErrInvalid].
func (n Number) Int64() (int64, error) {
	if err := n.check("number"); err != nil {
		return 0, err
	}
	r := n.rat()
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, invalid("the number %.40q is not an int64: use Float64, or its text", string(n))
	}
	return r.Num().Int64(), nil
}

// Float64 returns the float64 that is nearest to n. The error Is [lock.ErrInvalid] if n is no
// number, or if it is beyond what a float64 can hold.
func (n Number) Float64() (float64, error) {
	if err := n.check("number"); err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return 0, invalid("the number %.40q is beyond what a float64 can hold: use its text", string(n))
	}
	return f, nil
}

// check refuses what could not be compared.
func (n Number) check(what string) error {
	switch {
	case len(n) > maxNumber:
		return invalid("the %s %.20q… has %d bytes: at most %d are allowed; use an exponent",
			what, string(n), len(n), maxNumber)
	case !form.MatchString(string(n)):
		return invalid("the %s %.40q is not a number that can be compared: give a finite decimal,"+
			" such as \"7\" or \"-1.5e-3\", with an exponent of at most three digits", what, string(n))
	}
	return nil
}

// rat returns the value of a number that was checked.
func (n Number) rat() *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		panic(fmt.Sprintf("register: %q was not checked", string(n)))
	}
	return r
}

// around returns the smallest and the largest number that differ from n by no more than the
// tolerance.
func (n Number) around(tolerance float64) (low, high Number) {
	if tolerance == 0 {
		return n, n
	}
	at, by := n.rat(), Float(tolerance).rat()
	return decimal(new(big.Rat).Sub(at, by)), decimal(new(big.Rat).Add(at, by))
}

// decimal writes out all digits of a sum of decimals.
func decimal(r *big.Rat) Number {
	digits, _ := r.FloatPrec()
	return Number(r.FloatString(digits))
}

// invalid returns an error that Is lock.ErrInvalid and says what is wrong with which value, and the
// remedy.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{lock.ErrInvalid}, args...)...)
}
