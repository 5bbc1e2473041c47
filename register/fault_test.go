package register_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/internal/testing/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/register"
)

// commands counts the calls of scripts that reached Redis.
func commands(t testing.TB, s *redistest.Server) int {
	t.Helper()
	counts := s.CommandCounts(t)
	return counts["evalsha"] + counts["eval"]
}

// loaded returns a server that knows the scripts, and a client that has its connection for calls.
func loaded(t testing.TB) (*redistest.Server, *lock.Client) {
	t.Helper()
	s := locks.Server(t)
	return s, locks.Met(t, s.URL(), nil)
}

// TestUnknown: of a call whose reply is lost it is not known whether it was executed. Those that
// set or delete are not sent again, those that may be are.
func TestUnknown(t *testing.T) {
	t.Parallel()
	set := func(ctx context.Context, c *lock.Client) error {
		return locks.ErrOf(register.New(c, "n").SetIf(ctx, register.Less, "7", "7", nil))
	}
	remove := func(ctx context.Context, c *lock.Client) error {
		return locks.ErrOf(register.New(c, "n").DeleteIf(ctx, register.Less, "7", nil))
	}
	get := func(ctx context.Context, c *lock.Client) error {
		_, _, err := register.New(c, "n").Get(ctx)
		return err
	}
	pass := func(ctx context.Context, c *lock.Client) error {
		return register.NewGate(c, "n").Pass(ctx, 7)
	}
	for _, test := range []struct {
		what    string
		fate    faultproxy.Fate
		call    func(context.Context, *lock.Client) error
		unknown bool
		sent    int    // how often it reached Redis
		after   string // what is stored
	}{
		{"set, reply cut", faultproxy.CutReply, set, true, 1, "7"},
		{"set, no reply", faultproxy.HoldReply, set, true, 1, "7"},
		{"set, request cut", faultproxy.CutRequest, set, true, 0, "6"},
		{"delete, reply cut", faultproxy.CutReply, remove, true, 1, ""},
		{"delete, request cut", faultproxy.CutRequest, remove, true, 0, "6"},
		{"get, reply cut", faultproxy.CutReply, get, false, 2, "6"},
		{"pass, reply cut", faultproxy.CutReply, pass, false, 2, "7"},
		{"pass, request cut", faultproxy.CutRequest, pass, false, 1, "7"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			s, _ := loaded(t)
			p := locks.Proxy(t, s)
			c := locks.Met(t, p.URL(), nil)
			s.Do(t, "SET", "lock-reg:n", "6")
			before := commands(t, s)
			p.Catch(test.fate, scripts.Register.SHA1)
			err := test.call(locks.Soon(t), c)
			if errors.Is(err, lock.ErrUnknown) != test.unknown || (err != nil) != test.unknown {
				t.Errorf("%v", err)
			}
			if n := commands(t, s) - before; n != test.sent {
				t.Errorf("it reached Redis %d times, want %d", n, test.sent)
			}
			(&backend{conn: s.Dial(t)}).has(t, "afterwards", "n", test.after)
		})
	}
}

// TestUnknownTwice: Pass does not say that a token passed when it is not known.
func TestUnknownTwice(t *testing.T) {
	t.Parallel()
	s, _ := loaded(t)
	p := locks.Proxy(t, s)
	c := locks.Met(t, p.URL(), nil)
	for range 2 {
		p.Catch(faultproxy.CutReply, scripts.Register.SHA1)
	}
	if err := register.NewGate(c, "n").Pass(locks.Soon(t), 7); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("Pass: %v", err)
	}
}

// TestBadInput: an error that names the value, before anything is sent.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s, c := loaded(t)
	ctx, r := locks.Soon(t), register.New(c, "n")
	var nilCtx context.Context
	set := func(than, value register.Number, o *register.Options) error {
		return locks.ErrOf(r.SetIf(ctx, register.Less, than, value, o))
	}
	remove := func(o *register.Options) error { return locks.ErrOf(r.DeleteIf(ctx, register.Less, "1", o)) }
	get := func(r *register.Register, ctx context.Context) error {
		_, _, err := r.Get(ctx)
		return err
	}
	type bad struct {
		err   error
		named string
	}
	before := commands(t, s)
	tests := map[string]bad{
		"no comparison":      {locks.ErrOf(r.SetIf(ctx, 0, "1", "1", nil)), "Comparison(0)"},
		"no comparison, del": {locks.ErrOf(r.DeleteIf(ctx, 7, "1", nil)), "Comparison(7)"},
		"expiry":             {set("1", "1", &register.Options{Expiry: -1}), "-1ns"},
		"expiry to keep":     {set("1", "1", &register.Options{Expiry: -1, KeepExpiry: true}), "-1ns"},
		"tolerance":          {set("1", "1", &register.Options{Tolerance: -0.5}), "-0.5"},
		"tolerance NaN":      {set("1", "1", &register.Options{Tolerance: math.NaN()}), "NaN"},
		"tolerance Inf":      {set("1", "1", &register.Options{Tolerance: math.Inf(1)}), "+Inf"},
		"delete, tolerance":  {remove(&register.Options{Tolerance: math.NaN()}), "NaN"},
		"delete, expiry":     {remove(&register.Options{Expiry: time.Hour}), "1h"},
		"delete, keep":       {remove(&register.Options{KeepExpiry: true}), "KeepExpiry true"},
		"nil ctx":            {locks.ErrOf(r.SetIf(nilCtx, register.Less, "1", "1", nil)), "context"},
		"delete, nil ctx":    {locks.ErrOf(r.DeleteIf(nilCtx, register.Less, "1", nil)), "context"},
		"get, nil ctx":       {get(r, nilCtx), "context"},
		"pass, nil ctx":      {register.NewGate(c, "n").Pass(nilCtx, 1), "context"},
	}
	for _, name := range []string{"", "a\x00", "a\xff", strings.Repeat("x", 513)} {
		r := register.New(c, name)
		tests["get from "+name] = bad{get(r, ctx), "name"}
		tests["set "+name] = bad{locks.ErrOf(r.SetIf(ctx, register.Less, "1", "1", nil)), "name"}
		tests["delete "+name] = bad{locks.ErrOf(r.DeleteIf(ctx, register.Less, "1", nil)), "name"}
		tests["pass "+name] = bad{register.NewGate(c, name).Pass(ctx, 1), "name"}
	}
	for _, n := range notNumbers {
		named := string(n[:min(len(n), 20)])
		tests["than "+string(n)] = bad{set(n, "1", nil), named}
		tests["value "+string(n)] = bad{set("1", n, nil), named}
		tests["delete than "+string(n)] = bad{locks.ErrOf(r.DeleteIf(ctx, register.Less, n, nil)), named}
	}
	for what, bad := range tests {
		named := strings.NewReplacer("\n", `\n`, "\x00", `\x00`).Replace(bad.named)
		if !errors.Is(bad.err, lock.ErrInvalid) || !strings.Contains(bad.err.Error(), named) {
			t.Errorf("%.30q: %v", what, bad.err)
		}
	}
	if n := commands(t, s) - before; n != 0 {
		t.Errorf("%d commands were sent", n)
	}
}

// TestRedisRefuses: what Redis itself refuses is its error, and neither unknown nor invalid.
func TestRedisRefuses(t *testing.T) {
	t.Parallel()
	s, c := loaded(t)
	r := register.New(c, "n")
	s.Do(t, "SET", "lock-reg:n", "6")
	s.Do(t, "CONFIG", "SET", "maxmemory", 1)
	_, err := r.SetIf(locks.Soon(t), register.Less, "7", "7", nil)
	if err == nil || !strings.Contains(err.Error(), "OOM") || errors.Is(err, lock.ErrUnknown) {
		t.Errorf("SetIf: %v, want OOM", err)
	}
	if value, ok, err := r.Get(locks.Soon(t)); value != "6" || !ok || err != nil {
		t.Errorf("Get: %q, %v, %v", value, ok, err)
	}
	got, err := r.DeleteIf(locks.Soon(t), register.Less, "7", nil)
	if want := (register.Result{Done: true, Stored: "6"}); got != want || err != nil {
		t.Errorf("DeleteIf: %+v, %v", got, err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	_, c := loaded(t)
	_ = c.Close()
	r := register.New(c, "n")
	_, _, get := r.Get(locks.Soon(t))
	for what, err := range map[string]error{
		"Get": get, "SetIf": locks.ErrOf(r.SetIf(locks.Soon(t), register.Less, "7", "7", nil)),
		"DeleteIf": locks.ErrOf(r.DeleteIf(locks.Soon(t), register.Less, "7", nil)),
		"Pass":     register.NewGate(c, "n").Pass(locks.Soon(t), 7),
	} {
		if !errors.Is(err, lock.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPrefix: the key has the client's prefix, and nothing else is touched.
func TestPrefix(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := register.New(locks.Open(t, s.URL(), &lock.Options{Prefix: "app:"}), "{tag}n")
	if _, err := r.SetIf(locks.Soon(t), register.Less, "7", "7", nil); err != nil {
		t.Error(err)
	}
	if keys := s.Keys(t, "*"); len(keys) != 1 || keys[0] != "app:lock-reg:{tag}n" {
		t.Errorf("the keys %q", keys)
	}
	if r.Name() != "{tag}n" {
		t.Errorf("its name is %q", r.Name())
	}
}
