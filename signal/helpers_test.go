package signal_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

// bubble runs a test on fake time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// wait waits for the waiter's turn, in the background.
func wait(ctx context.Context, w *signal.Waiter) <-chan error {
	told := make(chan error, 1)
	go func() { told <- w.Wait(ctx) }()
	return told
}

// after returns how long it took until the waiter was told to ask.
func after(t *testing.T, w *signal.Waiter) time.Duration {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := w.Wait(ctx); err != nil {
		t.Fatalf("Wait: %v", err)
	}
	return time.Since(begin)
}

// between checks a time.
func between(t *testing.T, what string, got, least, most time.Duration) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: %v, want %v to %v", what, got, least, most)
	}
}

// silent checks that nobody is told anything.
func silent(t *testing.T, told ...<-chan error) {
	t.Helper()
	for i, c := range told {
		select {
		case err := <-c:
			t.Errorf("waiter %d was told %v, want nothing", i, err)
		default:
		}
	}
}

// start returns a hub on the store that is closed, and checked, at the end of the test.
func start(t *testing.T, s *store, o *signal.Options) *signal.Hub {
	t.Helper()
	h := signal.New(s, o)
	t.Cleanup(func() {
		h.Close(5 * time.Second)
		if open, _ := s.connections(); open != 0 {
			t.Errorf("%d connections are open after Close", open)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.dials != 0 {
			t.Errorf("%d dialers were not hung up after Close", s.dials)
		}
	})
	return h
}

// join joins a queue.
func join(t *testing.T, h *signal.Hub, name string, left signal.Left) *signal.Waiter {
	t.Helper()
	w, err := h.Join(plain(name), left)
	if err != nil {
		t.Fatalf("Join(%q): %v", name, err)
	}
	return w
}
