package lock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestOwner(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	name := redistest.Name(t)
	if _, err := c.Owner(soon(t), name); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("owner of a free lock: %v", err)
	}
	lease := acquire(t, c.Mutex(name))
	o, err := c.Owner(soon(t), name)
	if err != nil {
		t.Fatal(err)
	}
	if o.ID != lease.ID() || o.PID != os.Getpid() || o.Name != name || o.Host == "" {
		t.Errorf("owner %+v", o)
	}
	if since := time.Since(o.Since); since < 0 || since > 5*time.Second {
		t.Errorf("held since %v", o.Since)
	}
	if o.TTL <= 28*time.Second || o.TTL > 30*time.Second {
		t.Errorf("TTL %v", o.TTL)
	}
	if strings.Contains(o.String(), lease.ID()[len(o.Label)+1:]) || !strings.Contains(o.String(), o.Label) {
		t.Errorf("String: %s", o)
	}
	unlock(t, lease)
}

func TestOwnersOfOtherKinds(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s, nil)
	huge := strings.Repeat("\xff\x00", 1<<19)
	for what, value := range map[string]string{
		"python-redis-lock's": "YWJjZGVmZ2hpamtsbW5vcA==",
		"empty":               "",
		"binary":              "\x00\xff/\n",
		"a slash":             "/",
		"an id without label": "/01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"a label in umlauts":  "häuser/01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"no ULID":             "host:1/01ARZ3NDEKTSV4RRFFQ69G5FAU!",
		"huge":                huge,
	} {
		name := redistest.Name(t)
		s.Do(t, "SET", "lock:"+name, value)
		o, err := c.Owner(soon(t), name)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if o.Label != "" || o.Host != "" || o.PID != 0 || !o.Since.IsZero() || o.TTL != lock.NoExpiry {
			t.Errorf("%s: %+v", what, o)
		}
		if want := value[:min(len(value), 1025)]; o.ID != want {
			t.Errorf("%s: id of %d bytes, want %d", what, len(o.ID), len(want))
		}
		_, err = c.Mutex(name).TryLock(soon(t))
		if !errors.Is(err, lock.ErrHeld) || !strings.Contains(err.Error(), "without expiry") {
			t.Errorf("%s: TryLock: %v", what, err)
		}
		if len(value) > 1 && strings.Contains(err.Error(), value) {
			t.Errorf("%s: the error carries the id: %v", what, err)
		}
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := open(t, s, nil), open(t, s, nil)
	if _, held, err := b.Reset(soon(t), "job"); held || err != nil {
		t.Errorf("reset of a free lock: held %v, %v", held, err)
	}
	lease := acquire(t, a.Mutex("job"))
	waiter := lockLater(t, soon(t), b, "job")
	blocked(t, s, 1)
	was, held, err := b.Reset(soon(t), "job")
	if err != nil || !held || was.PID != os.Getpid() || was.ID != "" || was.TTL <= 0 {
		t.Errorf("reset: %+v, held %v, %v", was, held, err)
	}
	unlock(t, must(unpack(await(t, "the waiter", waiter)))(t))
	if err := lease.Unlock(soon(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock of a lease that was reset: %v", err)
	}
}

// id returns an owner id as holdfast makes them.
func id(label string, since time.Time) string {
	return label + "/" + ulid.MustNew(ulid.Timestamp(since), zeros{}).String()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestResetAll(t *testing.T) {
	t.Parallel()
	host, _ := os.Hostname()
	dead := deadProcess(t)
	acquire(t, open(t, redistest.Shared(t), nil).Mutex(redistest.Name(t))) // so that what is ours can be told
	now := time.Now()
	keys := map[string]string{
		"mine/1": id("importer", now),
		"mine/2": id("importer", now.Add(-time.Hour)),
		"other":  id("importer-2", now),
		"dead":   id(fmt.Sprintf("%s:%d", host, dead), now),
		"alive":  id(fmt.Sprintf("%s:%d", host, os.Getpid()), now),
		// Before any id of this process, those of bubbles included, whose time begins in 2000.
		"reused":    id(fmt.Sprintf("%s:%d", host, os.Getpid()), time.UnixMilli(1)),
		"elsewhere": id(fmt.Sprintf("elsewhere:%d", dead), now),
		"python":    "YWJjZGVmZ2hpamtsbW5vcA==",
		"[odd]*?\\": id("odd", now),
		"huge":      strings.Repeat("x", 1025),
		// Released, and kept until its minimum is over.
		"mine/kept":  id("importer", now.Add(-time.Hour)) + "/kept",
		"kept, dead": id(fmt.Sprintf("%s:%d", host, dead), now.Add(-time.Hour)) + "/kept",
	}
	all := []string{
		"[odd]*?\\", "alive", "dead", "elsewhere", "kept, dead", "mine/1", "mine/2", "mine/kept", "other",
		"python", "reused",
	}
	for _, test := range []struct {
		what   string
		filter lock.Filter
		want   []string
	}{
		{"label", lock.Filter{Label: "importer"}, []string{"mine/1", "mine/2"}},
		{"label and age", lock.Filter{Label: "importer", OlderThan: 30 * time.Minute}, []string{"mine/2"}},
		{"age", lock.Filter{OlderThan: 30 * time.Minute}, []string{"mine/2", "reused"}},
		{"host", lock.Filter{Host: host}, []string{"alive", "dead", "reused"}},
		{"dead here", lock.Filter{DeadHere: true, OnePIDNamespace: true}, []string{"dead", "reused"}},
		{"name", lock.Filter{Name: "mine/*"}, []string{"mine/1", "mine/2"}},
		{"name with ?", lock.Filter{Name: "mine/?"}, []string{"mine/1", "mine/2"}},
		{"name with specials", lock.Filter{Name: `[odd]*?\`}, []string{`[odd]*?\`}},
		{"name and label", lock.Filter{Name: "*2", Label: "importer"}, []string{"mine/2"}},
		{"nothing", lock.Filter{Label: "nobody"}, nil},
		{"all", lock.Filter{All: true}, all},
		{"all of a name", lock.Filter{All: true, Name: "py*"}, []string{"python"}},
		{"all of a name, kept", lock.Filter{All: true, Name: "mine/k*"}, []string{"mine/kept"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			c := open(t, s, &lock.Options{Prefix: "a[p]*p:"})
			for name, value := range keys {
				s.Do(t, "SET", "a[p]*p:lock:"+name, value, "PX", 60_000)
				s.Do(t, "SET", "lock:"+name, value) // under another prefix
				s.Do(t, "SET", "a[p]*pp:lock:"+name, value)
			}
			s.Do(t, "HSET", "a[p]*p:lock:config", "not", "a lock")
			if listed := listed(t, c, test.filter); !slices.Equal(listed, test.want) { // the dry run
				t.Errorf("listed %q, want %q", listed, test.want)
			}
			reset, err := c.ResetAll(soon(t), test.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range reset {
				if o.ID != "" || o.TTL <= 0 {
					t.Errorf("returned %+v", o)
				}
				got = append(got, o.Name)
				if n := s.Do(t, "LLEN", "a[p]*p:lock-signal:"+o.Name); n != int64(1) {
					t.Errorf("%s: %v signals", o.Name, n)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("reset %q, want %q", got, test.want)
			}
			for name := range keys {
				gone := slices.Contains(test.want, name)
				if n := s.Do(t, "EXISTS", "a[p]*p:lock:"+name); (n == int64(0)) != gone {
					t.Errorf("%s: EXISTS %v", name, n)
				}
				if n := s.Do(t, "EXISTS", "lock:"+name, "a[p]*pp:lock:"+name); n != int64(2) {
					t.Errorf("%s was reset under another prefix", name)
				}
			}
			if n := s.Do(t, "HLEN", "a[p]*p:lock:config"); n != int64(1) {
				t.Error("a foreign key was touched")
			}
		})
	}
}

// deadProcess returns the id of a process that has been.
func deadProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestResetAllOfManyKeys(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, &lock.Options{Label: "many"})
	conn := s.Dial(t)
	for i := range 3000 {
		_ = conn.Send("SET", fmt.Sprintf("lock:%d", i), id("many", time.Now()))
		_ = conn.Send("SET", fmt.Sprintf("foreign:%d", i), "x")
	}
	if _, err := conn.Do(""); err != nil {
		t.Fatal(err)
	}
	reset, err := c.ResetAll(soon(t), lock.Filter{Label: "many"})
	if err != nil || len(reset) != 3000 {
		t.Errorf("reset %d locks, %v", len(reset), err)
	}
	if n := s.CommandCounts(t)["keys"]; n != 0 {
		t.Errorf("KEYS was used %d times", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.ResetAll(ctx, lock.Filter{Label: "many"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}
