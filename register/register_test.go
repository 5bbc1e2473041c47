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

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/register"
)

// TestComparisons: each comparison, to set and to delete, of each pair, and of nothing with its
// second.
func TestComparisons(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		for _, pair := range pairs {
			for is, relations := range all {
				what := fmt.Sprintf("%s: %.20s %v %.20s", pair.kind, pair.stored, is, pair.than)
				compares(t, b, what, pair.stored, is, pair.than, strings.Contains(relations, pair.relation))
				what = fmt.Sprintf("%s: absent %v %.20s", pair.kind, is, pair.than)
				compares(t, b, what, "", is, pair.than, true)
			}
		}
	})
}

// compares checks what comes of one comparison, to set and to delete; stored is "" for nothing.
func compares(t *testing.T, b *backend, what, stored string, is register.Comparison, than register.Number,
	holds bool,
) {
	t.Helper()
	r := register.New(b.client, "n")
	want := register.Result{Done: holds, Stored: register.Number(stored)}
	check := func(what string, got register.Result, err error, ifDone string) {
		t.Helper()
		if got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
		}
		if !holds {
			ifDone = stored
		}
		b.has(t, what, "n", ifDone)
	}
	b.put(t, "n", stored)
	got, err := r.SetIf(locks.Soon(t), is, than, "-1.50e3", nil)
	check("set if "+what, got, err, "-1.50e3")
	b.put(t, "n", stored)
	got, err = r.DeleteIf(locks.Soon(t), is, than, nil)
	check("delete if "+what, got, err, "")
}

// TestNoNumberIsGiven: what is no number is refused by each comparison, to set and to delete, of
// something and of nothing, and as the value too; nothing changes.
func TestNoNumberIsGiven(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		ctx, r := locks.Soon(t), register.New(b.client, "n")
		for _, stored := range []string{"", "7"} {
			b.put(t, "n", stored)
			for _, n := range notNumbers {
				for is := range all {
					for what, err := range map[string]error{
						"set if it is":    locks.ErrOf(r.SetIf(ctx, is, n, "1", nil)),
						"set, to":         locks.ErrOf(r.SetIf(ctx, is, "7", n, nil)),
						"delete if it is": locks.ErrOf(r.DeleteIf(ctx, is, n, nil)),
					} {
						if !errors.Is(err, lock.ErrInvalid) {
							t.Errorf("%q is stored: %s %v %.20q: %v", stored, what, is, n, err)
						}
					}
				}
			}
			b.has(t, "afterwards", "n", stored)
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
				got, err := r.SetIf(locks.Soon(t), is, register.Number(than), register.Number(stored), nil)
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
				set, err := r.SetIf(locks.Soon(t), is, test.than, register.Number(test.stored), o)
				deleted, err2 := r.DeleteIf(locks.Soon(t), is, test.than, o)
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
		ctx := locks.Soon(t)
		check := func(stored, named string) {
			t.Helper()
			for is := range all {
				for what, err := range map[string]error{
					"SetIf":    locks.ErrOf(r.SetIf(ctx, is, "1", "2", nil)),
					"DeleteIf": locks.ErrOf(r.DeleteIf(ctx, is, "1", nil)),
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
			value, ok, err := register.New(b.client, "n").Get(locks.Soon(t))
			if string(value) != stored || ok != (stored != "") || err != nil {
				t.Errorf("%q: %q, %v, %v", stored, value, ok, err)
			}
		}
	})
}

// TestExpiry: a register that is set gets the expiry of the options, or keeps its own if they say
// so.
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
			got, err := r.SetIf(locks.Soon(t), register.Less, "7", "7", test.options)
			if !got.Done || err != nil {
				t.Errorf("%s: %+v, %v", test.what, got, err)
			}
			b.lasts(t, test.what, "n", test.want)
			// What is not set keeps what it has.
			got, err = r.SetIf(locks.Soon(t), register.Less, "7", "7", &register.Options{Expiry: 24 * time.Hour})
			if got.Done || err != nil {
				t.Errorf("%s, again: %+v, %v", test.what, got, err)
			}
			b.lasts(t, test.what+", again", "n", test.want)
		}
		// A part of a millisecond is a whole one, and not none, which would be for ever.
		nanosecond := &register.Options{Expiry: 1}
		if _, err := r.SetIf(locks.Soon(t), register.Equal, "7", "8", nanosecond); err != nil {
			t.Error(err)
		}
		if left := b.do(t, "PTTL", "lock-reg:n"); left == int64(-1) {
			t.Error("a nanosecond is for ever")
		}
	})
}
