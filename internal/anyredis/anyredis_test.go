//go:build unix

package anyredis_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/anyredis"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The tests change the environment, so none is parallel.

func TestURLComesFirst(t *testing.T) {
	s := redistest.Start(t, "requirepass s3cret") // there may be a redis-server on PATH, too
	t.Setenv(anyredis.Variable, s.URL())
	r := find(t)
	if r.URL != s.URL() {
		t.Errorf("URL %q, want %q", r.URL, s.URL())
	}
	if !strings.Contains(r.About, "from REDIS_URL") || strings.Contains(r.About, "s3cret") {
		t.Errorf("About %q", r.About)
	}
	expires(t, r)
	s.Do(t, "SET", "foreign", "x")
	s.Do(t, "SET", r.Prefix+"ours", "x")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n := s.Do(t, "DBSIZE"); n != int64(1) {
		t.Errorf("%v keys are left, want the foreign one: %s", n, s.Do(t, "KEYS", "*"))
	}
}

func TestURLThatDoesNotWork(t *testing.T) {
	for _, url := range []string{
		"redis://:s3cret@127.0.0.1:1", "http://s3cret", "redis://:s3cret@127.0.0.1:port",
	} {
		t.Setenv(anyredis.Variable, url)
		r, err := anyredis.Find(t.Context())
		if err == nil || r != nil {
			t.Fatalf("%s: got %v, want an error", url, r)
		}
		if !strings.Contains(err.Error(), anyredis.Variable) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestPrivateServerComesSecond(t *testing.T) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		t.Run(name, func(t *testing.T) {
			path, tmp := onlyOnPath(t, name), shortDir(t)
			t.Setenv("TMPDIR", tmp)
			r := find(t)
			want := "a private " + name + " (" + filepath.Join(path, name) + ")"
			if !strings.HasPrefix(r.About, want) {
				t.Errorf("About %q, want %q", r.About, want)
			}
			expires(t, r)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := os.ReadDir(tmp)
			if err != nil || len(files) > 0 {
				t.Errorf("left behind: %v (%v)", files, err)
			}
			if c, err := redis.Dial("unix", strings.TrimPrefix(r.URL, "unix://")); err == nil {
				c.Close()
				t.Error("the server still listens")
			}
		})
	}
}

func TestEmbeddedServerComesLast(t *testing.T) {
	t.Setenv(anyredis.Variable, "")
	t.Setenv("PATH", t.TempDir())
	r := find(t)
	want := "an embedded one in this process (miniredis): no REDIS_URL, " +
		"no redis-server or valkey-server on PATH"
	if r.About != want {
		t.Errorf("About %q, want %q", r.About, want)
	}
	expires(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Setenv(anyredis.Variable, "")
	dir, tmp := t.TempDir(), shortDir(t)
	script := "#!/bin/sh\necho first\necho 'Fatal: no luck'\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("TMPDIR", tmp)
	r := find(t)
	if !strings.HasPrefix(r.About, "an embedded one") || strings.Contains(r.About, "\n") ||
		!strings.Contains(r.About, `does not start: it ended at once (exit status 1)`) ||
		!strings.Contains(r.About, `"Fatal: no luck"`) {
		t.Errorf("About %q", r.About)
	}
	files, err := os.ReadDir(tmp)
	if err != nil || len(files) > 0 {
		t.Errorf("left behind: %v (%v)", files, err)
	}
}

func TestFindEndsWithItsContext(t *testing.T) {
	t.Setenv(anyredis.Variable, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if r, err := anyredis.Find(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v, %v, want %v", r, err, cause)
	}
}

func find(t *testing.T) *anyredis.Redis {
	t.Helper()
	r, err := anyredis.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// expires checks that the server works and that its clock runs: a key goes when its time has come.
func expires(t *testing.T, r *anyredis.Redis) {
	t.Helper()
	s := redistest.At(t, r.URL)
	key := r.Prefix + "expires"
	s.Do(t, "SET", key, "x", "PX", "50")
	redistest.Until(t, "the key has expired", func() bool {
		return s.Do(t, "EXISTS", key) == int64(0)
	})
}

// onlyOnPath makes a PATH with nothing but a server under this name, and returns the directory.
func onlyOnPath(t *testing.T, name string) string {
	t.Helper()
	t.Setenv(anyredis.Variable, "")
	dir := t.TempDir()
	for _, real := range []string{"redis-server", "valkey-server"} {
		if bin, err := exec.LookPath(real); err == nil {
			if err := os.Symlink(bin, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir)
			return dir
		}
	}
	redistest.Skip(t, "no redis-server or valkey-server on PATH")
	return ""
}

// shortDir is t.TempDir with a name short enough for a unix socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "anyredis-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
