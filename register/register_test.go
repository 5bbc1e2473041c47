package register_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/register"
)

// all are the six comparisons, and of which relations of what is stored to what is given they are true.
var all = map[register.Comparison]string{
	register.Less: "<", register.LessOrEqual: "<=", register.Equal: "=",
	register.NotEqual: "<>", register.GreaterOrEqual: ">=", register.Greater: ">",
}

// pairs are numbers and how the first stands to the second, by hand.
var pairs = []struct {
	kind     string
	stored   string // "" for absent
	than     register.Number
	relation string
}{
	{"absent", "", "7", "absent"},
	{"absent, negative", "", "-7e300", "absent"},

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

// TestComparisons: each comparison, to set and to delete, of each pair.
func TestComparisons(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		r := register.New(b.client, "n")
		for _, pair := range pairs {
			for is, relations := range all {
				what := fmt.Sprintf("%s: %.20s %v %.20s", pair.kind, pair.stored, is, pair.than)
				held := pair.relation == "absent" || strings.Contains(relations, pair.relation)
				want := register.Result{Done: held, Stored: register.Number(pair.stored)}
				check := func(what string, got register.Result, err error, ifDone string) {
					t.Helper()
					if got != want || err != nil {
						t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
					}
					if !held {
						ifDone = pair.stored
					}
					b.has(t, what, "n", ifDone)
				}
				b.put(t, "n", pair.stored)
				got, err := r.SetIf(soon(t), is, pair.than, "-1.50e3", nil)
				check("set if "+what, got, err, "-1.50e3")
				b.put(t, "n", pair.stored)
				got, err = r.DeleteIf(soon(t), is, pair.than, nil)
				check("delete if "+what, got, err, "")
			}
		}
	})
}

// TestRandomNumbers compares numbers that are close to each other, as other arithmetic does.
func TestRandomNumbers(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		random := rand.New(rand.NewPCG(1, 2))
		text := func() string {
			s := []string{"", "-", "+"}[random.IntN(3)]
			for range 1 + random.IntN(3) {
				s += string("0129"[random.IntN(4)])
			}
			if random.IntN(2) == 0 {
				s += "." + []string{"", "0", "1", "10", "09"}[random.IntN(5)]
			}
			if random.IntN(2) == 0 {
				s += []string{"e", "E+0", "e-", "e-0"}[random.IntN(4)] + fmt.Sprint(random.IntN(3))
			}
			return s
		}
		r := register.New(b.client, "n")
		relations := []string{"<", "=", ">"}
		for range 500 {
			stored, than := text(), text()
			x, _ := new(big.Rat).SetString(stored)
			y, _ := new(big.Rat).SetString(than)
			relation := relations[x.Cmp(y)+1]
			b.put(t, "n", stored)
			for is, of := range all {
				got, err := r.SetIf(soon(t), is, register.Number(than), register.Number(stored), nil)
				if err != nil || got.Done != strings.Contains(of, relation) {
					t.Fatalf("%s %v %s: %+v, %v", stored, is, than, got, err)
				}
			}
		}
	})
}

// TestTolerance: numbers that differ by no more than it are equal, in all six comparisons.
func TestTolerance(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		r := register.New(b.client, "n")
		for _, test := range []struct {
			stored    string
			than      register.Number
			tolerance float64
			relation  string
		}{
			{"0.30000000000000004", "0.3", 1e-9, "="},
			{"0.99", "1", 0.01, "="},
			{"1.01", "1", 0.01, "="},
			{"0.9899999999999999999999", "1", 0.01, "<"},
			{"1.0100000000000000000001", "1", 0.01, ">"},
			{"-0.99", "-1", 0.01, "="},
			{"-1.02", "-1", 0.01, "<"},
			{"-0.5", "0.5", 1, "="},
			{"9007199254740993", "9007199254740992", 1, "="},
			{"9007199254740994", "9007199254740992", 1, ">"},
			{"1e308", "1e308", 1e-300, "="},
			{"0", "1e308", 1e308, "="},
			{"1e-400", "0", math.SmallestNonzeroFloat64, "="},
			{"1", "1", math.MaxFloat64, "="},
			{"1", ".5", 0.5, "="},
			{"+1", "+5.", 4, "="},
		} {
			for is, relations := range all {
				b.put(t, "n", test.stored)
				o := &register.Options{Tolerance: test.tolerance}
				set, err := r.SetIf(soon(t), is, test.than, register.Number(test.stored), o)
				deleted, err2 := r.DeleteIf(soon(t), is, test.than, o)
				want := register.Result{
					Done: strings.Contains(relations, test.relation), Stored: register.Number(test.stored),
				}
				if set != want || deleted != want || err != nil || err2 != nil {
					t.Errorf("%s %v %s within %v: %+v, %v and %+v, %v; want %+v",
						test.stored, is, test.than, test.tolerance, set, err, deleted, err2, want)
				}
			}
		}
	})
}

// TestNotNumber: what is no number is refused by every method, and stays.
func TestNotNumber(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		r := register.New(b.client, "n")
		ctx := soon(t)
		check := func(stored, named string) {
			t.Helper()
			for is := range all {
				for what, err := range map[string]error{
					"SetIf":    errOf(r.SetIf(ctx, is, "1", "2", nil)),
					"DeleteIf": errOf(r.DeleteIf(ctx, is, "1", nil)),
					"Pass":     register.NewGate(b.client, "n").Pass(ctx, 1),
				} {
					if !errors.Is(err, register.ErrNotNumber) || !errors.Is(err, lock.ErrWrongType) ||
						!strings.Contains(err.Error(), named) {
						t.Errorf("%s of %.20q: %v", what, stored, err)
					}
				}
			}
			value, ok, err := r.Get(ctx)
			if value != "" || ok || !errors.Is(err, register.ErrNotNumber) {
				t.Errorf("Get of %.20q: %q, %v, %v", stored, value, ok, err)
			}
		}
		for _, stored := range []string{
			"abc", "NaN", "nan", "-nan", "inf", "-Infinity", "0x10", " 7", "7 ", "1e1000", "1_000", "1,5",
			"a/01ARZ3NDEKTSV4RRFFQ69G5FAV", strings.Repeat("7", 401),
		} {
			b.put(t, "n", stored)
			check(stored, stored[:min(len(stored), 30)])
			b.has(t, "afterwards", "n", stored)
		}
		b.do(t, "SET", "lock-reg:n", "")
		check("", `""`)
		b.do(t, "DEL", "lock-reg:n")
		b.do(t, "RPUSH", "lock-reg:n", "7")
		check("a list", "no string")
		if n := b.do(t, "LLEN", "lock-reg:n"); n != int64(1) {
			t.Errorf("the list has %v elements", n)
		}
	})
}

func TestGet(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		for _, stored := range []string{"", "7", "+07.50e-3", "9007199254740993"} {
			b.put(t, "n", stored)
			value, ok, err := register.New(b.client, "n").Get(soon(t))
			if string(value) != stored || ok != (stored != "") || err != nil {
				t.Errorf("%q: %q, %v, %v", stored, value, ok, err)
			}
		}
	})
}

// TestExpiry: a register that is set gets the expiry of the options, or keeps its own if they say so.
func TestExpiry(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		r := register.New(b.client, "n")
		const had = 100_000
		for _, test := range []struct {
			what    string
			given   int64 // milliseconds; 0: absent; -1: without expiry
			options *register.Options
			want    int64
		}{
			{"no options, absent", 0, nil, -1},
			{"no options, without", -1, nil, -1},
			{"no options, with", had, nil, -1},
			{"none, with", had, &register.Options{}, -1},
			{"new, absent", 0, &register.Options{Expiry: time.Minute}, 60_000},
			{"new, without", -1, &register.Options{Expiry: time.Minute}, 60_000},
			{"new, with", had, &register.Options{Expiry: time.Minute}, 60_000},
			{"longer, with", had, &register.Options{Expiry: time.Hour}, 3_600_000},
			{"kept, absent", 0, &register.Options{KeepExpiry: true}, -1},
			{"kept, without", -1, &register.Options{KeepExpiry: true}, -1},
			{"kept, with", had, &register.Options{KeepExpiry: true}, had},
			{"kept or new, absent", 0, &register.Options{KeepExpiry: true, Expiry: time.Minute}, 60_000},
			{"kept or new, without", -1, &register.Options{KeepExpiry: true, Expiry: time.Minute}, -1},
			{"kept or new, with", had, &register.Options{KeepExpiry: true, Expiry: time.Minute}, had},
		} {
			b.put(t, "n", "")
			if test.given != 0 {
				b.put(t, "n", "1")
			}
			if test.given > 0 {
				b.do(t, "PEXPIRE", "lock-reg:n", test.given)
			}
			got, err := r.SetIf(soon(t), register.Less, "7", "7", test.options)
			if !got.Done || err != nil {
				t.Errorf("%s: %+v, %v", test.what, got, err)
			}
			b.lasts(t, test.what, "n", test.want)
			// What is not set keeps what it has.
			got, err = r.SetIf(soon(t), register.Less, "7", "7", &register.Options{Expiry: 24 * time.Hour})
			if got.Done || err != nil {
				t.Errorf("%s, again: %+v, %v", test.what, got, err)
			}
			b.lasts(t, test.what+", again", "n", test.want)
		}
		// A part of a millisecond is a whole one, and not none, which would be for ever.
		nanosecond := &register.Options{Expiry: 1}
		if _, err := r.SetIf(soon(t), register.Equal, "7", "8", nanosecond); err != nil {
			t.Error(err)
		}
		if left := b.do(t, "PTTL", "lock-reg:n"); left == int64(-1) {
			t.Error("a nanosecond is for ever")
		}
	})
}

func errOf[T any](_ T, err error) error { return err }
