package faults_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/renewal"
)

// clockServer returns a server whose wall clock can be stepped.
func clockServer(t *testing.T) (s *redistest.Server, step func(seconds int)) {
	t.Helper()
	dir := t.TempDir()
	library, bin := filepath.Join(dir, "clock.so"), filepath.Join(dir, "redis")
	clock := filepath.Join(dir, "clock")
	out, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, "testdata/clockstep.c").CombinedOutput()
	if err != nil {
		redistest.Skip(t, fmt.Sprintf("no C compiler to make a clock that can be stepped: %v %s", err, out))
	}
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		redistest.Skip(t, "needs redis-server on this machine, to step its clock")
	}
	step = func(seconds int) {
		// Renamed into place: the server must not read an empty file.
		if err := os.WriteFile(clock+".new", fmt.Append(nil, seconds), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(clock+".new", clock); err != nil {
			t.Fatal(err)
		}
	}
	step(0)
	script := fmt.Sprintf("#!/bin/sh\nHOLDFAST_CLOCK='%s' LD_PRELOAD='%s' exec '%s' \"$@\"\n",
		clock, library, redis)
	if err := os.WriteFile(bin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOLDFAST_TEST_REDIS_BIN", bin)
	s = locks.Server(t)
	was := time.Now()
	step(-3600)
	seconds, ok := s.Do(t, "TIME").([]any)[0].([]byte)
	if now := locks.Int(t, string(seconds)); !ok || now > was.Unix()-3000 {
		redistest.Skip(t, "this server's clock cannot be stepped")
	}
	step(0)
	return s, step
}

// Row 22: the server's clock is stepped forward, and all keys expire. The holder is told at its next
// renewal, and its waiter acquires.
func TestFaultServerClockForward(t *testing.T) {
	const ttl = 1500 * time.Millisecond
	s, step := clockServer(t)
	j := newJob(t, s.URL(), ttl)
	j.Renewed(t)
	step(60)
	stepped := time.Now()
	lost := j.Lost(t)
	t.Logf("told after %v", locks.Took(t, "to be told", stepped, time.Now(), ttl/3+ttl/6+locks.Slack))
	locks.Is(t, "Lost", lost, lock.ErrLost, renewal.ErrNotOwner)
	lease, at := j.Next(t)
	locks.Took(t, "the waiter", stepped, at, locks.S+locks.R)
	if lease.Fence() <= j.Lease.Fence() {
		t.Errorf("fences: %d, after the step %d", j.Lease.Fence(), lease.Fence())
	}
	_ = lease.Unlock(locks.Soon(t))
}

// Row 22: the server's clock is stepped back. Nothing is lost; blocking reads, which the server does
// not end any more, are given up by their own limit (see TestReadIsGivenUp), and the lock's TTL is set
// right.
func TestFaultServerClockBack(t *testing.T) {
	const ttl = 1500 * time.Millisecond
	s, step := clockServer(t)
	j := newJob(t, s.URL(), ttl)
	s.Blocked(t, 1)
	step(-3600)
	if pttl := s.Do(t, "PTTL", "lock:job").(int64); pttl < 3_000_000 {
		t.Fatalf("%d ms left after the step: this tests nothing", pttl)
	}
	redistest.Until(t, "the TTL is right", func() bool {
		return s.Do(t, "PTTL", "lock:job").(int64) <= ttl.Milliseconds()
	})
	j.GoesOn(t, s)
}
