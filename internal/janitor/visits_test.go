package janitor

import (
	"testing"
	"time"
)

func TestNextVisit(t *testing.T) {
	t.Parallel()
	began := time.Now()
	since := began.Add(10*time.Second + 300*time.Millisecond)
	now := since
	var got []time.Duration
	for {
		next, ok := nextVisit(began, since, now)
		if !ok {
			break
		}
		if !next.After(now) {
			t.Fatalf("at %v the next visit is at %v", now.Sub(since), next.Sub(since))
		}
		now = next
		got = append(got, now.Sub(began))
	}
	want := []time.Duration{12300, 17000, 25000, 41000, 71000, 123000}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i]*time.Millisecond {
			t.Errorf("visit %d is at %v, want %v", i, got[i], want[i]*time.Millisecond)
		}
	}
}
