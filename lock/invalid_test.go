package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Bad input gets an error that names the value, before anything is sent.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 513)
	for what, test := range map[string]struct {
		options lock.Options
		names   string // what the error must name
	}{
		"TTL too short":          {lock.Options{TTL: 49 * time.Millisecond}, "49ms"},
		"TTL too long":           {lock.Options{TTL: 366*24*time.Hour + 1}, "8784h0m0.000000001s is out of range: give 50ms to 366 days"},
		"TTL negative":           {lock.Options{TTL: -2}, "-2ns"},
		"margin of the TTL":      {lock.Options{TTL: time.Second, Margin: time.Second}, "1s"},
		"margin over the TTL":    {lock.Options{Margin: time.Minute}, "1m0s"},
		"margin negative":        {lock.Options{Margin: -time.Second}, "-1s"},
		"margin over NoExpiry's": {lock.Options{TTL: lock.NoExpiry, Margin: time.Minute}, "30s"},
		"NoExpiry, NoRenewal":    {lock.Options{TTL: lock.NoExpiry, NoRenewal: true}, "NoRenewal"},
		"MaxHold too short":      {lock.Options{MaxHold: 49 * time.Millisecond}, "49ms"},
		"MaxHold negative":       {lock.Options{MaxHold: -2}, "-2ns"},
		"HoldAtLeast negative":   {lock.Options{HoldAtLeast: -2}, "-2ns"},
		"HoldAtLeast too long":   {lock.Options{HoldAtLeast: 367 * 24 * time.Hour}, "366 days"},
		"at least over at most":  {lock.Options{MaxHold: time.Minute, HoldAtLeast: time.Hour}, "1h"},
		"SignalTTL too short":    {lock.Options{SignalTTL: 49 * time.Millisecond}, "49ms"},
		"SignalTTL too long":     {lock.Options{SignalTTL: 367 * 24 * time.Hour}, "366 days"},
		"MaxWaiters negative":    {lock.Options{MaxWaiters: -1}, "-1"},
		"label too long":         {lock.Options{Label: long}, "513"},
		"label not ASCII":        {lock.Options{Label: "häuser"}, "häuser"},
		"label not printable":    {lock.Options{Label: "a\nb"}, `a\nb`},
		"label with braces":      {lock.Options{Label: "a{b}"}, "a{b}"},
		"label like a default":   {lock.Options{Label: "importer:1"}, "importer:1"},
		"label just a number":    {lock.Options{Label: ":1"}, ":1"},
		"prefix with lock:":      {lock.Options{Prefix: "app:lock:"}, "app:lock:"},
		"prefix like our keys":   {lock.Options{Prefix: "lock-signal:"}, "lock-signal:"},
		"prefix not UTF-8":       {lock.Options{Prefix: "\xff"}, `\xff`},
		"prefix not printable":   {lock.Options{Prefix: "a\x00"}, `a\x00`},
		"prefix too long":        {lock.Options{Prefix: long}, "513"},
		"prefix of control char": {lock.Options{Prefix: "\x7f"}, `\x7f`},
	} {
		c, err := lock.Open("redis://127.0.0.1:1", &test.options)
		if c != nil || !errors.Is(err, lock.ErrInvalid) || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Combinations of a mutex's options and its client's that cannot work, and what their errors name.
func TestBadCombinations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		client lock.Options
		mutex  lock.MutexOptions
		names  []string
	}{
		{mutex: lock.MutexOptions{ID: "x", NoFence: true}, names: []string{"ID", "NoFence"}},
		{lock.Options{NoFence: true}, lock.MutexOptions{ID: "x"}, []string{"ID", "NoFence"}},
		{mutex: lock.MutexOptions{KeepID: true, NoFence: true}, names: []string{"KeepID", "NoFence"}},
		{lock.Options{NoFence: true}, lock.MutexOptions{KeepID: true}, []string{"KeepID", "NoFence"}},
		{mutex: lock.MutexOptions{ID: "x", Label: "me"}, names: []string{"ID", "Label", "me"}},
		{mutex: lock.MutexOptions{ID: strings.Repeat("x", 513)}, names: []string{"513"}},
		{mutex: lock.MutexOptions{ID: "häuser"}, names: []string{"ASCII"}},
		{mutex: lock.MutexOptions{ID: "x/kept"}, names: []string{"/kept"}},
		{mutex: lock.MutexOptions{SignalTTL: 49 * time.Millisecond}, names: []string{"SignalTTL", "49ms", "50ms"}},
		{mutex: lock.MutexOptions{SignalTTL: -1}, names: []string{"SignalTTL", "-1ns"}},
		{lock.Options{NoRenewal: true}, lock.MutexOptions{TTL: lock.NoExpiry}, []string{"NoExpiry", "NoRenewal"}},
		{lock.Options{TTL: lock.NoExpiry}, lock.MutexOptions{NoRenewal: true}, []string{"NoExpiry", "NoRenewal"}},
		{lock.Options{HoldAtLeast: time.Hour}, lock.MutexOptions{MaxHold: time.Minute}, []string{"1m", "1h"}},
		{lock.Options{MaxHold: time.Minute}, lock.MutexOptions{HoldAtLeast: time.Hour}, []string{"1m", "1h"}},
		{lock.Options{Margin: time.Minute, TTL: time.Hour}, lock.MutexOptions{TTL: lock.NoExpiry}, []string{"1m", "30s"}},
	}
	for _, test := range tests {
		c, err := lock.Open("redis://127.0.0.1:1", &test.client)
		if err != nil {
			t.Fatalf("%+v: %v", test.client, err)
		}
		m := c.MutexWith("x", &test.mutex)
		for what, err := range map[string]error{
			"TryLock": locks.ErrOf(m.TryLock(soon(t))), "Adopt": locks.ErrOf(m.Adopt(soon(t), "y")),
		} {
			if !errors.Is(err, lock.ErrInvalid) {
				t.Errorf("%s with %+v of %+v: %v", what, test.mutex, test.client, err)
				continue
			}
			for _, name := range test.names {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %q does not name %s", what, err, name)
				}
			}
		}
		_ = c.Close()
	}
}

// What may be combined works.
func TestGoodCombinations(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for i, o := range []lock.MutexOptions{
		{TTL: lock.NoExpiry, MaxHold: time.Hour, HoldAtLeast: time.Hour},
		{TTL: lock.NoExpiry, NoFence: true, Margin: 10 * time.Second},
		{NoRenewal: true, MaxHold: 50 * time.Millisecond},
		{NoFence: true, HoldAtLeast: time.Millisecond, MaxHold: time.Minute},
		{ID: "x", KeepID: true, TTL: lock.NoExpiry, HoldAtLeast: 366 * 24 * time.Hour},
		{ID: "x", NoRenewal: true, MaxHold: time.Minute},
		{KeepID: true, NoRenewal: true, Label: "me"},
	} {
		c := open(t, s, nil)
		m := c.MutexWith(fmt.Sprint("job-", i), &o)
		unlock(t, acquire(t, m))
		s.Do(t, "SET", "lock:"+m.Name(), "theirs", "PX", 60_000)
		lease, err := m.Adopt(soon(t), "theirs")
		if o.ID != "" && !o.KeepID {
			if !errors.Is(err, lock.ErrInvalid) {
				t.Errorf("%+v: Adopt: %v", o, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: Adopt: %v", o, err)
			continue
		}
		unlock(t, lease)
	}
}

func TestBadPool(t *testing.T) {
	t.Parallel()
	for what, pool := range map[string]*redis.Pool{"nil": nil, "empty": {}} {
		if c, err := lock.New(pool, nil); c != nil || !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s pool: %v", what, err)
		}
	}
}

func TestBadURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "localhost:6379", "http://localhost", "redis://", "redis://:s3cret@host:port/0",
		"redis://user:s3cret@host/zero", "redis://host?pass=s3cret", "unix://host/s3cret",
		"redis://s3cret@host", "redis://user:s3c/ret@host", "redis://user:s3c#ret@host",
		"redis://user:%zzs3cret@host", "unix:///run/redis.sock?db=s3cret", "redis://h:6379/-1",
	} {
		_, err := lock.Open(url, nil)
		if !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("Open(%q): %v", url, err)
		} else if strings.Contains(err.Error(), "s3c") {
			t.Errorf("Open(%q) gives the password away: %v", url, err)
		}
	}
}

func TestBadNamesAndArguments(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	lease := acquire(t, c.Mutex("good"))
	before := total(s.CommandCounts(t))
	var nilCtx context.Context
	bad := map[string]error{
		"TTL of a mutex":    locks.ErrOf(c.MutexWith("x", &lock.MutexOptions{TTL: 1}).Lock(soon(t))),
		"margin of a mutex": locks.ErrOf(c.MutexWith("x", &lock.MutexOptions{Margin: time.Hour}).Lock(soon(t))),
		"label of a mutex":  locks.ErrOf(c.MutexWith("x", &lock.MutexOptions{Label: "h:1"}).TryLock(soon(t))),
		"Lock nil ctx":      locks.ErrOf(c.Mutex("x").Lock(nilCtx)),
		"TryLock nil ctx":   locks.ErrOf(c.Mutex("x").TryLock(nilCtx)),
		"Do nil ctx":        c.Do(nilCtx, "x", func(context.Context) error { return nil }),
		"Do nil fn":         c.Do(soon(t), "x", nil),
		"Owner nil ctx":     locks.ErrOf(c.Owner(nilCtx, "x")),
		"ResetAll nil ctx":  locks.ErrOf(c.ResetAll(nilCtx, lock.Filter{All: true})),
		"Shutdown nil ctx":  c.Shutdown(nilCtx),
		"Unlock nil ctx":    lease.Unlock(nilCtx),
		"Extend nil ctx":    lease.Extend(nilCtx, time.Minute),
		"Extend zero":       lease.Extend(soon(t), 0),
		"Extend negative":   lease.Extend(soon(t), -time.Second),
		"Extend too long":   lease.Extend(soon(t), 367*24*time.Hour),
		"Extend too short":  lease.Extend(soon(t), 49*time.Millisecond),
		"empty filter":      locks.ErrOf(c.ResetAll(soon(t), lock.Filter{})),
		"all but":           locks.ErrOf(c.ResetAll(soon(t), lock.Filter{All: true, Label: "x"})),
		"negative age":      locks.ErrOf(c.ResetAll(soon(t), lock.Filter{OlderThan: -1})),
		"dead anywhere":     locks.ErrOf(c.ResetAll(soon(t), lock.Filter{DeadHere: true})),
		"Detach nil ctx":    locks.ErrOf(lease.Detach(nilCtx)),
		"Adopt nil ctx":     locks.ErrOf(c.Mutex("x").Adopt(nilCtx, "id")),
		"Adopt no id":       locks.ErrOf(c.Mutex("x").Adopt(soon(t), "")),
		"Adopt kept":        locks.ErrOf(c.Mutex("x").Adopt(soon(t), "id/kept")),
		"Adopt long id":     locks.ErrOf(c.Mutex("x").Adopt(soon(t), strings.Repeat("x", 513))),
		"Adopt given id":    locks.ErrOf(c.MutexWith("x", &lock.MutexOptions{ID: "y"}).Adopt(soon(t), "id")),
		"ReleaseID nil ctx": c.ReleaseID(nilCtx, "x", "id"),
		"ReleaseID no id":   c.ReleaseID(soon(t), "x", ""),
		"ReleaseID no name": c.ReleaseID(soon(t), "", "id"),
		"Extend for ever":   lease.Extend(soon(t), lock.NoExpiry),
		"pattern not UTF-8": locks.ErrOf(c.ResetAll(soon(t), lock.Filter{Name: "\xff"})),
	}
	for _, name := range []string{
		"", strings.Repeat("x", 513), "a\xffb", "tab\tin", "nul\x00", "line\n", "c1\u0085",
	} {
		bad["Lock "+name] = locks.ErrOf(c.Mutex(name).Lock(soon(t)))
		bad["TryLock "+name] = locks.ErrOf(c.Mutex(name).TryLock(soon(t)))
		bad["Do "+name] = c.Do(soon(t), name, func(context.Context) error { return nil })
		bad["Owner "+name] = locks.ErrOf(c.Owner(soon(t), name))
		_, _, bad["Reset "+name] = c.Reset(soon(t), name)
	}
	for what, err := range bad {
		if !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%.40q: %v", what, err)
		}
	}
	if after := total(s.CommandCounts(t)); after != before+1 { // the INFO that counts
		t.Errorf("%d commands were sent", after-before-1)
	}
	unlock(t, lease)
}

// A margin that was chosen stays when the TTL changes, so Extend refuses to leave nothing of it.
func TestExtendRefusesTheMargin(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	m := c.MutexWith(redistest.Name(t), &lock.MutexOptions{TTL: 10 * time.Second, Margin: 5 * time.Second})
	lease := acquire(t, m)
	defer unlock(t, lease)
	if err := lease.Extend(soon(t), 5*time.Second); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("Extend to the margin: %v", err)
	}
	if !lease.Valid() {
		t.Error("a refused Extend ended the lease")
	}
}

func total(counts map[string]int) int {
	n := 0
	for command, count := range counts {
		if !strings.HasPrefix(command, "client") && command != "auth" && command != "select" {
			n += count
		}
	}
	return n
}

// What is allowed at the edge works.
func TestOddButGoodNames(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), &lock.Options{Prefix: redistest.Name(t) + "[*]:"})
	for _, name := range []string{
		strings.Repeat("x", 512), "日本語", "a b", "lock:x", "{tag}x", "*?[", `"`, "redis.call('FLUSHALL')",
	} {
		for range 2 {
			unlock(t, acquire(t, c.Mutex(name)))
		}
	}
}
