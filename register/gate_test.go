package register_test

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/register"
)

const week = 7 * 24 * 60 * 60 * 1000 // milliseconds

func TestGate(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		g := register.NewGate(b.client, "stock")
		for _, step := range []struct {
			token int64
			stale string // the newest, if it is refused
		}{
			{5, ""},
			{5, ""},
			{4, "5"},
			{6, ""},
			{5, "6"},
			{1795000000000000, ""},
			{1794999999999999, "1795000000000000"},
			{9007199254740992, ""},
			{9007199254740993, ""},
			{9007199254740992, "9007199254740993"},
			{math.MaxInt64, ""},
			{1, "9223372036854775807"},
			{math.MaxInt64, ""},
		} {
			err := g.Pass(locks.Soon(t), step.token)
			if step.stale == "" {
				if err != nil {
					t.Errorf("%d: %v", step.token, err)
				}
				b.has(t, "passed", "stock", string(register.Int(step.token)))
			} else {
				var stale *register.StaleError
				newest := register.Number(step.stale)
				want := register.StaleError{Name: "stock", Token: step.token, Newest: newest}
				if !errors.Is(err, register.ErrStale) || !errors.As(err, &stale) || *stale != want {
					t.Errorf("%d: %v, want %v", step.token, err, &want)
				}
				b.has(t, "refused", "stock", step.stale)
			}
			b.lasts(t, "the gate", "stock", week)
		}
	})
}

// TestGateRemembers: for a week since the last token passed, and not since one was refused.
func TestGateRemembers(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		g := register.NewGate(b.client, "stock")
		pass := func(token int64, stale bool, left int64) {
			t.Helper()
			b.do(t, "PEXPIRE", "lock-reg:stock", 60_000)
			if err := g.Pass(locks.Soon(t), token); errors.Is(err, register.ErrStale) != stale {
				t.Errorf("%d: %v", token, err)
			}
			b.lasts(t, "the gate", "stock", left)
		}
		pass(5, false, week)
		pass(5, false, week)
		pass(4, true, 60_000)
		pass(6, false, week)
	})
}

// TestGateAndLeases: of two leases of a lock, the older one is refused after the newer one passed.
func TestGateAndLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		ctx := locks.Soon(t)
		m := b.client.Mutex("stock")
		first, err := m.TryLock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.client.Reset(ctx, "stock"); err != nil {
			t.Fatal(err)
		}
		second, err := m.TryLock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		g := register.NewGate(b.client, "stock")
		for i, err := range []error{
			g.Pass(ctx, first.Fence()), g.Pass(ctx, second.Fence()), g.Pass(ctx, first.Fence()),
		} {
			if errors.Is(err, register.ErrStale) != (i == 2) || (i < 2 && err != nil) {
				t.Errorf("pass %d: %v", i, err)
			}
		}
		_ = first.Unlock(ctx)
		if err := second.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestBadTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		g := register.NewGate(b.client, "stock")
		for _, token := range []int64{0, -1, math.MinInt64} {
			err, named := g.Pass(locks.Soon(t), token), string(register.Int(token))
			if !errors.Is(err, lock.ErrInvalid) || !strings.Contains(err.Error(), named) {
				t.Errorf("%d: %v", token, err)
			}
		}
		b.has(t, "afterwards", "stock", "")
	})
}

// TestOneWins: of many that set a number at once, those that are told so have set ever larger ones,
// each over the one before.
func TestOneWins(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend) {
		ctx := locks.Soon(t)
		r := register.New(b.client, "n")
		var mu sync.Mutex // guards the field below

		over := map[register.Number]register.Number{} // what was set, by what it was set over

		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 50 {
					n := register.Int(int64((i*8+g)*37%400 + 1))
					got, err := r.SetIf(ctx, register.Less, n, n, nil)
					if err != nil {
						t.Error(err)
					}
					if got.Done {
						mu.Lock()
						if other, ok := over[got.Stored]; ok {
							t.Errorf("%s and %s were both set over %q", other, n, got.Stored)
						}
						over[got.Stored] = n
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		last, steps := register.Number(""), 0
		for next, ok := over[last]; ok; next, ok = over[last] {
			before, _ := last.Int64() // 0 of nothing
			if now, err := next.Int64(); err != nil || now <= before {
				t.Errorf("%s was set over %q", next, last)
			}
			last, steps = next, steps+1
		}
		if last != "400" || steps != len(over) {
			t.Errorf("%d of %d steps lead to %s, want 400", steps, len(over), last)
		}
		b.has(t, "in the end", "n", "400")
	})
}
