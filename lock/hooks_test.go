package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Open warns before it returns, on its caller's goroutine: the race detector looks at told.
func TestWarningOfAPasswordInClear(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"redis://me:s3cret@redis.example.com:6379/1": true,
		"redis://redis.example.com":                  false,
		"rediss://:s3cret@redis.example.com":         false,
		"redis://:s3cret@localhost:6379":             false,
		"unix://:s3cret@/run/redis.sock":             false,
	} {
		var told []lock.Event
		c, err := lock.Open(url, &lock.Options{Hooks: lock.Hooks{
			Warning: func(e lock.Event) { told = append(told, e) },
		}})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if !want {
			if len(told) > 0 {
				t.Errorf("%s: told %+v", url, told)
			}
			continue
		}
		if len(told) != 1 || told[0].Name != "" {
			t.Fatalf("%s: told %+v", url, told)
		}
		text := told[0].Err.Error()
		if strings.Contains(text, "s3cret") || !strings.Contains(text, "rediss://") {
			t.Errorf("%s: told %q", url, text)
		}
	}
}

func TestNoWarningOfAClientThatIsNone(t *testing.T) {
	t.Parallel()
	_, err := lock.Open("redis://:s3cret@redis.example.com", &lock.Options{
		TTL:   time.Millisecond,
		Hooks: lock.Hooks{Warning: func(e lock.Event) { t.Errorf("told %+v", e) }},
	})
	if !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("Open: %v", err)
	}
}

// A TTL that nobody asked for is warned of once, on the goroutine that called Extend.
func TestWarningOfAForeignTTLByExtend(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	var told []lock.Event
	c := open(t, s, &lock.Options{NoRenewal: true, Hooks: lock.Hooks{
		Warning: func(e lock.Event) { told = append(told, e) },
	}})
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	extend := func(ttl time.Duration, want int) {
		t.Helper()
		if err := lease.Extend(soon(t), ttl); err != nil {
			t.Fatalf("Extend(%v): %v", ttl, err)
		}
		if len(told) != want {
			t.Fatalf("after Extend(%v) told %+v, want %d warnings", ttl, told, want)
		}
	}
	extend(time.Minute, 0)
	extend(20*time.Second, 0) // the key keeps its minute
	for range 2 {
		s.Do(t, "PEXPIRE", "lock:"+name, 3_600_000)
		extend(20*time.Second, 1) // sees it
		extend(20*time.Second, 1) // sets it right
	}
	w := told[0]
	if w.Name != name {
		t.Errorf("told %+v", w)
	}
	if text := w.Err.Error(); !strings.Contains(text, "more than 1m0s") || !strings.Contains(text, "Reset") {
		t.Errorf("told %q", text)
	}
	unlock(t, lease)

	lease = acquire(t, c.Mutex(name))
	s.Do(t, "PEXPIRE", "lock:"+name, 3_600_000)
	extend(20*time.Second, 2) // another lease
	s.Do(t, "PERSIST", "lock:"+name)
	extend(20*time.Second, 3)
	if w := told[2]; w.Name != name || !strings.Contains(w.Err.Error(), "took the TTL") {
		t.Errorf("told %+v", w)
	}
	extend(20*time.Second, 3) // it was set right
	if left := s.Do(t, "PTTL", "lock:"+name).(int64); left <= 0 {
		t.Errorf("it has %d ms left", left)
	}
	unlock(t, lease)
}

func TestWarningOfAForeignTTLByRenewal(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	told, renewed := make(chan lock.Event, 100), make(chan lock.Event, 100)
	c := open(t, s, &lock.Options{TTL: 2 * time.Second, Hooks: lock.Hooks{
		Warning: func(e lock.Event) { told <- e },
		Renewed: func(e lock.Event) { renewed <- e },
	}})
	name := redistest.Name(t)
	lease := acquire(t, c.Mutex(name))
	await(t, "a renewal", renewed)
	if len(told) > 0 {
		t.Errorf("told %+v of a TTL that is ours", <-told)
	}
	for range 2 {
		s.Do(t, "PEXPIRE", "lock:"+name, 3_600_000)
		redistest.Until(t, "it is set right", func() bool {
			return s.Do(t, "PTTL", "lock:"+name).(int64) <= 2000
		})
		await(t, "a renewal", renewed)
	}
	if w := await(t, "the warning", told); w.Name != name || !strings.Contains(w.Err.Error(), "changed its TTL") {
		t.Errorf("told %+v", w)
	}
	if len(told) > 0 {
		t.Errorf("told again: %+v", <-told)
	}
	unlock(t, lease)
}

// One that waits for a long job is told once, not at every look; unless its connection breaks, as it
// may on a machine that does much else.
func TestWaitingIsToldOnceOfALongJob(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	told := make(chan lock.Event, 100)
	var broke []error // by one goroutine, which Close waits for
	c := open(t, s, &lock.Options{Hooks: lock.Hooks{
		Waiting:      func(e lock.Event) { told <- e },
		Reconnecting: func(e lock.Event) { broke = append(broke, e.Err) },
	}})
	lease := acquire(t, open(t, s, nil).Mutex("job"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got := lockLater(t, ctx, c, "job")
	await(t, "Waiting", told)
	began := s.CommandCounts(t)["pttl"]
	redistest.Until(t, "two looks", func() bool { return s.CommandCounts(t)["pttl"] >= began+2 })
	cancel()
	if r := await(t, "the end", got); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("Lock: %v", r.Err)
	}
	unlock(t, lease)
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if len(told) > 0 && len(broke) == 0 {
		t.Errorf("told again: %+v", <-told)
	}
}
