package register_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/register"
)

func TestFloat(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]register.Number{
		0: "0", math.Copysign(0, -1): "0", 1: "1", -1: "-1", 0.1: "0.1", -0.25: "-0.25",
		1e6: "1000000", 1234567.5: "1234567.5", 1 << 53: "9007199254740992",
		1 << 60: "1152921504606846976", -1 << 63: "-9223372036854775808",
		1 << 63: "9223372036854776000", // not an int64
		1e20:    "100000000000000000000", 1e21: "1e+21", 1e-6: "0.000001", 1e-7: "1e-07",
		math.MaxFloat64: "1.7976931348623157e+308", math.SmallestNonzeroFloat64: "5e-324",
		math.Inf(1): "+Inf", math.Inf(-1): "-Inf", 0.1 + 0.2: "0.3",
	} {
		if got := register.Float(f); got != want {
			t.Errorf("Float(%v) is %s, want %s", f, got, want)
		}
	}
	if got := register.Float(math.NaN()); got != "NaN" {
		t.Errorf("Float(NaN) is %s", got)
	}
}

func TestInt64(t *testing.T) {
	t.Parallel()
	for n, want := range map[register.Number]int64{
		"0": 0, "-0": 0, "7": 7, "+7": 7, "007": 7, "7.0": 7, "70e-1": 7, "7.": 7, "-7e2": -700,
		".5e1":                      5,
		register.Int(math.MaxInt64): math.MaxInt64, register.Int(math.MinInt64): math.MinInt64,
		"9007199254740993": 9007199254740993,
	} {
		if got, err := n.Int64(); got != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", n, got, err, want)
		}
	}
	for _, n := range append([]register.Number{
		"7.5", "9223372036854775808", "-9223372036854775809", "1e19", "1e-1",
	}, notNumbers...) {
		if got, err := n.Int64(); got != 0 || !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%.20s: %d, %v", n, got, err)
		}
	}
}

func TestFloat64(t *testing.T) {
	t.Parallel()
	for n, want := range map[register.Number]float64{
		"0": 0, "7": 7, "+7.50": 7.5, ".5": 0.5, "5.": 5, "1e308": 1e308, "1e-400": 0,
		"9007199254740993":              1 << 53,
		register.Float(math.MaxFloat64): math.MaxFloat64, register.Float(0.1): 0.1,
	} {
		if got, err := n.Float64(); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", n, got, err, want)
		}
	}
	for _, n := range append([]register.Number{"1e309", "-1e999"}, notNumbers...) {
		if got, err := n.Float64(); got != 0 || !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%.20s: %v, %v", n, got, err)
		}
	}
}

// notNumbers are refused wherever a number is given.
var notNumbers = []register.Number{
	"", "NaN", "nan", "+Inf", "-Inf", "inf", "Infinity", "abc",
	" 7", "7 ", "7\n", "7\x00", "0x10", "0b1", "1_000",
	"1,5", "3/4", "--7", "-", ".", "e5", "1e", "1e+", "1e1000", "1p4", "٧", "１",
	register.Float(math.NaN()), register.Float(math.Inf(1)), register.Number(strings.Repeat("7", 401)),
}
