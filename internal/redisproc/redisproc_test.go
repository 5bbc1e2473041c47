//go:build unix

package redisproc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisproc"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestRun(t *testing.T) {
	t.Parallel()
	program, err := redistest.Program()
	if err != nil {
		redistest.Skip(t, "no Redis: "+err.Error())
	}
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			p, err := redisproc.Run(t.Context(), redisproc.Config{
				Program: program, Network: network, Lines: redisproc.InMemory(),
			}, ping)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Remove() })
			if p.Exited() || p.Pid() == 0 || !strings.Contains(p.Log(), "eady to accept connections") {
				t.Errorf("it runs: %v, %d, %q", !p.Exited(), p.Pid(), p.Log())
			}
			for range 2 { // the second one finds it gone
				if err := p.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if !p.Exited() || p.Pid() != 0 || ping(t.Context(), p) == nil {
				t.Errorf("it is killed: %v, %d", p.Exited(), p.Pid())
			}
			if err := errors.Join(p.Start(), redisproc.Await(t.Context(), func(ctx context.Context) error {
				return ping(ctx, p)
			}, p.Exited)); err != nil {
				t.Fatalf("it does not start again at the same address: %v", err)
			}
		})
	}
}

func TestRunFails(t *testing.T) { // not parallel: it changes the environment
	bin := t.TempDir()
	tmp, err := os.MkdirTemp("/tmp", "redisproc-test-") // short enough for a unix socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	for _, test := range []struct{ name, script, want string }{
		{"ends", "echo first; echo 'Fatal: no luck'; exit 1", `it ended at once (exit status 1); its last words: "Fatal: no luck"`},
		{"hangs", "echo 'I think'; exec sleep 60", `no answer: refused; its last words: "I think"`},
		{"missing", "", "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := filepath.Join(bin, test.name)
			if test.script != "" {
				err := os.WriteFile(program, []byte("#!/bin/sh\n"+test.script+"\n"), 0o700)
				if err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, err := redisproc.Run(ctx, redisproc.Config{Program: program, Network: "unix"},
				func(_ context.Context, p *redisproc.Process) error {
					if strings.Contains(p.Log(), "I think") {
						cancel()
					}
					return errors.New("refused")
				})
			if err == nil || p != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v, want %q", p, err, test.want)
			}
			files, err := os.ReadDir(tmp)
			if err != nil || len(files) > 0 {
				t.Errorf("left behind: %v (%v)", files, err)
			}
		})
	}
}

func ping(_ context.Context, p *redisproc.Process) error {
	c, err := redis.Dial(p.Network, p.Addr, redis.DialReadTimeout(5*time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Do("PING")
	return err
}
