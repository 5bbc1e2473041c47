package register_test

import (
	"math"
	"strings"

	"github.com/holdfast-go/holdfast/register"
)

// all are the six comparisons, and of which relations of what is stored to what is given they are
// true.
var all = map[register.Comparison]string{
	register.Less: "<", register.LessOrEqual: "<=", register.Equal: "=",
	register.NotEqual: "<>", register.GreaterOrEqual: ">=", register.Greater: ">",
}

// pairs are numbers and how the first stands to the second, by hand.
var pairs = []struct {
	kind     string
	stored   string
	than     register.Number
	relation string
}{
	{"int", "6", "7", "<"},
	{"int", "7", "7", "="},
	{"int", "8", "7", ">"},
	{"int by length", "9", "10", "<"},
	{"int by length", "10", "9", ">"},
	{"zero", "0", "0", "="},
	{"minus zero", "-0", "0", "="},
	{"zeros", "-0.000e5", "00", "="},
	{"zero and small", "0", "1e-300", "<"},
	{"zero and small negative", "0", "-1e-300", ">"},
	{"leading zeros", "007", "7", "="},
	{"a plus", "+7", "7", "="},
	{"octal to some", "08", "7", ">"},

	{"float", "1.5", "1.25", ">"},
	{"float", "1.05", "1.5", "<"},
	{"float and int", "7.0", "7", "="},
	{"float and int", "6.999999999999999999999", "7", "<"},
	{"point without digits", ".5", "0.5", "="},
	{"point without digits", "5.", "5", "="},
	{"float of Go", "0.1", register.Float(0.1), "="},
	{"float of a sum", "0.3", register.Float(math.Nextafter(0.3, 1)), "<"},
	{"exponent", "7e0", "7", "="},
	{"exponent", "70e-1", "7", "="},
	{"exponent", "0.0007E+04", "7", "="},
	{"exponent of two digits", "1e+08", "100000000", "="},
	{"exponent of two digits", "1e-09", "1e-8", "<"},
	{"exponent wins", "9e9", "1e10", "<"},
	{"exponent wins", "1e10", "9.99e9", ">"},

	{"negative", "-8", "-7", "<"},
	{"negative", "-7", "-7", "="},
	{"negative", "-6", "-7", ">"},
	{"negative and positive", "-7", "7", "<"},
	{"negative and positive", "7", "-7", ">"},
	{"negative by length", "-10", "-9", "<"},
	{"negative float", "-1.25", "-1.5", ">"},
	{"negative exponent", "-1e3", "-1e2", "<"},

	{"beyond 2^53", "9007199254740993", "9007199254740992", ">"},
	{"beyond 2^53", "9007199254740992", "9007199254740993", "<"},
	{"beyond 2^53", "9007199254740993", "9007199254740993", "="},
	{"beyond 2^53, float", "9007199254740993", register.Float(1 << 53), ">"},
	{"beyond 2^53, negative", "-9007199254740993", "-9007199254740992", "<"},
	{"int64", "9223372036854775806", register.Int(math.MaxInt64), "<"},
	{"int64", "-9223372036854775808", register.Int(math.MinInt64), "="},
	{"int64 and float", "1152921504606846976", register.Float(1 << 60), "="},
	{"beyond int64", "9223372036854775808", register.Int(math.MaxInt64), ">"},
	{"beyond uint64", "123456789012345678901234567891", "123456789012345678901234567890", ">"},
	{"huge", "1e308", register.Float(math.MaxFloat64), "<"},
	{"huge", "1e309", register.Float(math.MaxFloat64), ">"},
	{"huge", "-1e999", register.Float(-math.MaxFloat64), "<"},
	{"huge", "1e999", "1000e996", "="},
	{"huge in digits", "1" + strings.Repeat("0", 399), "1e399", "="},
	{"huge in digits", "1" + strings.Repeat("0", 398) + "1", "1e399", ">"},
	{"tiny", "5e-324", register.Float(math.SmallestNonzeroFloat64), "="},
	{"tiny", "1e-999", "1e-998", "<"},
}
