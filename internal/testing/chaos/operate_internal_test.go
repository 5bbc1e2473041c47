package chaos

import (
	"slices"
	"testing"
	"time"
)

// What a client blocks ends when it blocks it again, and what another one blocks does not.
func TestBlockedAgain(t *testing.T) {
	t.Parallel()
	block := func(client int, call, until time.Duration) Lease {
		return Lease{Name: "n", How: "Block", Client: client, Call: call, Return: call + 1, Begin: call + 1, End: until}
	}
	for name, test := range map[string]struct {
		next Lease
		done bool
		want []time.Duration // the ends
	}{
		"later":           {block(1, 200, 300), true, []time.Duration{100, 300}},
		"shorter":         {block(1, 50, 60), true, []time.Duration{50, 60}},
		"longer":          {block(1, 50, 200), true, []time.Duration{50, 200}},
		"perhaps":         {block(1, 50, 200), false, []time.Duration{50}},
		"at once":         {block(1, 10, 200), true, []time.Duration{10}},
		"another's":       {block(2, 50, 200), true, []time.Duration{100, 200}},
		"of another name": {Lease{Name: "m", How: "Block", Client: 1, Call: 50, End: 60}, true, []time.Duration{100, 60}},
	} {
		h := History{Leases: []Lease{block(1, 10, 100)}}
		h.blocked(test.next, test.done)
		var ends []time.Duration
		for _, l := range h.Leases {
			ends = append(ends, l.End)
		}
		if !slices.Equal(ends, test.want) {
			t.Errorf("%s: ends %v, want %v", name, ends, test.want)
		}
	}
}
