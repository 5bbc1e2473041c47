package lock_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// want describes a key: its type, its value ("*": any) and the range of its PTTL.
type want struct {
	kind     string
	value    any
	from, to int64
}

// checkKeys compares all keys of a server with what is wanted. "*" in a key stands for anything.
func checkKeys(t *testing.T, s *redistest.Server, after string, wanted map[string]want) {
	t.Helper()
	found := s.Dump(t)
	for pattern, w := range wanted {
		key := pattern
		for k := range found {
			if head, tail, ok := strings.Cut(pattern, "*"); ok &&
				strings.HasPrefix(k, head) && strings.HasSuffix(k, tail) {
				key = k
			}
		}
		got, ok := found[key]
		delete(found, key)
		switch {
		case !ok:
			t.Errorf("after %s there is no %s", after, pattern)
		case got.Type != w.kind, got.PTTL < w.from, got.PTTL > w.to,
			w.value != "*" && !reflect.DeepEqual(got.Value, w.value):
			t.Errorf("after %s %s is %+v, want %+v", after, pattern, got, w)
		}
	}
	for key, got := range found {
		t.Errorf("after %s there is also %s: %+v", after, key, got)
	}
}

// The wire: keys, types, values and TTLs after every operation. docs/wire.md says the same.
func TestWire(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * 3600 * 1000
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{Prefix: "p:", Label: "me", TTL: 20 * time.Second})
	fence := want{"string", "*", week - 9000, week}
	signal := want{"list", []string{"1"}, 1, 1000}

	lease := acquire(t, c.Mutex("N"))
	held := want{"string", lease.ID(), 15_000, 20_000}
	fence.value = fmt.Sprint(lease.Fence())
	checkKeys(t, s, "acquire", map[string]want{"p:lock:N": held, "p:lock-fence:N": fence})
	if !strings.HasPrefix(lease.ID(), "me/0") || len(lease.ID()) != len("me/")+26 {
		t.Errorf("id %q", lease.ID())
	}

	if err := lease.Extend(soon(t), 40*time.Second); err != nil {
		t.Fatal(err)
	}
	held.from, held.to = 35_000, 40_000
	checkKeys(t, s, "extend", map[string]want{"p:lock:N": held, "p:lock-fence:N": fence})

	waiter := open(t, s, &lock.Options{Prefix: "p:", Label: "you"})
	got := lockLater(t, soon(t), waiter, "N")
	redistest.Until(t, "the register is there", func() bool {
		return len(s.Keys(t, "p:lock-waiting:*")) > 0
	})
	blocked(t, s, 1)
	checkKeys(t, s, "a second of waiting", map[string]want{
		"p:lock:N": held, "p:lock-fence:N": fence,
		"p:lock-waiting:you/*": {"hash", map[string]string{"N": "1"}, 1, 5000},
	})

	unlock(t, lease)
	next := must(unpack(await(t, "the lock", got)))(t)
	if next.Fence() <= lease.Fence() {
		t.Errorf("fencing tokens %d, %d", lease.Fence(), next.Fence())
	}
	unlock(t, next)
	lists := s.Dump(t, "p:lock-signal:*", "p:lock:*")
	if got := lists["p:lock-signal:N"]; len(lists) != 1 || got.PTTL > signal.to ||
		!reflect.DeepEqual(got.Value, signal.value) {
		t.Errorf("after a release that nobody waited for: %+v", lists)
	}

	again := acquire(t, c.Mutex("M"))
	if _, _, err := c.Reset(soon(t), "M"); err != nil {
		t.Fatal(err)
	}
	m := s.Dump(t, "p:lock*:M")
	if len(m) != 2 || m["p:lock-signal:M"].PTTL > signal.to || m["p:lock-signal:M"].Type != "list" {
		t.Errorf("after reset: %+v", m)
	}
	_ = again.Unlock(context.Background())
}

// Exactly two round trips: EVALSHA to acquire, EVALSHA to release.
func TestTwoRoundTrips(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, nil)
	unlock(t, acquire(t, c.Mutex("job"))) // brings the scripts
	before := s.CommandCounts(t)
	const n = 100
	for range n {
		unlock(t, acquire(t, c.Mutex("job")))
	}
	after := s.CommandCounts(t)
	outside := []string{"evalsha", "eval", "blpop", "client|setname", "ping", "script|load", "hello"}
	for _, command := range slices.Compact(outside) {
		sent := after[command] - before[command]
		if command == "evalsha" && sent != 2*n || command != "evalsha" && sent != 0 {
			t.Errorf("%d lock and unlock sent %s %d times", n, command, sent)
		}
	}
}
