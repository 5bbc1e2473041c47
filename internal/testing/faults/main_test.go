package faults_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/peer"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// TestFaultProcess is not a test but the process that others make of this binary.
func TestFaultProcess(t *testing.T) { peer.Serve(t) }

// newJob returns a holder of a lock and a waiter for it, whose TTL and Redis are given.
func newJob(t *testing.T, url string, ttl time.Duration) *locks.Job {
	t.Helper()
	return locks.NewJob(t, ttl, func(o *lock.Options) *lock.Client { return locks.Open(t, url, o) })
}
