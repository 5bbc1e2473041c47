// Package lifecycle is what every server that redistest runs must do, wherever it runs.
package lifecycle

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// A Starter runs a server for the time of a test, with these lines of redis.conf.
type Starter func(t testing.TB, conf ...string) *redistest.Server

// Run checks the servers of start, each in a subtest.
func Run(t *testing.T, start Starter) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Starter){
		"stop and continue": stopContinue,
		"kill and restart":  killRestart,
		"persistence":       persistence,
		"password":          password,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start)
		})
	}
}

func stopContinue(t *testing.T, start Starter) {
	s := start(t)
	s.Do(t, "SET", "k", "kept")
	c := s.Dial(t)

	s.Stop(t)
	_, err := redis.DoWithTimeout(c, 100*time.Millisecond, "PING")
	var late net.Error
	if !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("PING to a stopped server: %v, want a timeout", err)
	}
	s.Continue(t)
	if got := text(s.Do(t, "GET", "k")); got != "kept" {
		t.Errorf("after Continue k = %q, want kept", got)
	}
}

func killRestart(t *testing.T, start Starter) {
	s := start(t)
	s.Do(t, "SET", "k", "v")
	old := s.Dial(t)

	s.Kill(t)
	if _, err := old.Do("PING"); err == nil {
		t.Error("a killed server answers")
	}
	s.Kill(t) // of a dead one: nothing

	url := s.URL()
	s.Restart(t)
	if got := s.URL(); got != url {
		t.Errorf("after a restart at %s, want %s", got, url)
	}
	if keys := s.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("after a restart without persistence there are %q", keys)
	}
	s.Do(t, "SET", "k", "again")
	s.Restart(t) // of a running one
	s.Stop(t)
	s.Restart(t) // of a stopped one
	s.Ready(t)
}

func persistence(t *testing.T, start Starter) {
	s := start(t, "appendonly yes", "appendfsync always")
	s.Do(t, "SET", "k", "v")
	s.Restart(t)
	if got := text(s.Do(t, "GET", "k")); got != "v" {
		t.Errorf("after a restart with an append only file k = %q, want v", got)
	}
}

func password(t *testing.T, start Starter) {
	s := start(t, `requirepass "se:cret"`)
	if got := text(s.Do(t, "PING")); got != "PONG" {
		t.Errorf("PING with the password: %q", got)
	}
	if !strings.Contains(s.URL(), ":se%3Acret@") {
		t.Errorf("the URL %s has no password", s.URL())
	}
	bare, err := redis.Dial(s.Network(), s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if _, err := bare.Do("PING"); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH") {
		t.Errorf("PING without a password: %v, want NOAUTH", err)
	}
}

func text(reply any) string {
	s, _ := redis.String(reply, nil)
	return s
}
