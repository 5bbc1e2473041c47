package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// program is set in the environment of a test binary that is to be the program itself.
const program = "HOLDFAST_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(program) != "" {
		main()
	}
	redistest.Main(m)
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   string
		golden string
	}{
		{"help", "testdata/help.txt"},
		{"-h", "testdata/help.txt"},
		{"--help", "testdata/help.txt"},
		{"help demo", "testdata/help-demo.txt"},
		{"demo -h", "testdata/help-demo.txt"},
		{"demo --help", "testdata/help-demo.txt"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(c.golden)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err = exec(context.Background(), strings.Fields(c.args), nil, &out, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", "no command given"},
		{"dmeo", `unknown command "dmeo"`},
		{"help dmeo", `unknown command "dmeo"`},
		{"help demo demo", "help takes the name of one command"},
		{"demo now", `demo: it takes no argument, got "now"`},
		{"demo -worker 3", "demo: flag provided but not defined: -worker"},
		{"demo -workers x", "demo: invalid value"},
		{"demo -workers 1", "demo: -workers 1 is not from 2 to 9"},
		{"demo -workers 10", "demo: -workers 10 is not from 2 to 9"},
		{"demo -ttl 299ms", "demo: -ttl 299ms is not from 300ms to 30s"},
		{"demo -ttl 31s", "demo: -ttl 31s is not from 300ms to 30s"},
		{"demo -ttl 2s -work 1s", "demo: -work 1s is not from the TTL, 2s, to 10m"},
		{"demo -work 11m", "demo: -work 11m0s is not from the TTL, 3s, to 10m"},
		{"demo-worker -x", "demo-worker: flag provided but not defined: -x"},
		{"demo-worker", "demo-worker is for the demo to start"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var out, said strings.Builder
			err := exec(context.Background(), strings.Fields(c.args), nil, &out, io.Discard)
			if code := exitCode(err, &said); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			got := said.String()
			if !strings.HasPrefix(got, "holdfast: "+c.want) ||
				!strings.HasSuffix(got, "; see: holdfast help\n") || strings.Count(got, "\n") != 1 {
				t.Errorf("stderr %q, want one line with %q", got, c.want)
			}
			if out.Len() > 0 {
				t.Errorf("stdout %q, want nothing", out.String())
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{usageError("x"), 2},
		{errors.Join(stopped{syscall.SIGINT}, errors.New("x")), 130},
		{stopped{syscall.SIGTERM}, 143},
	} {
		if got := exitCode(c.err, io.Discard); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}
