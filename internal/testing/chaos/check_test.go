package chaos_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/chaos"
)

const ms = time.Millisecond

// lease is one of client 0 with belief from b to e, called shortly before.
func lease(b, e time.Duration, fence int64) chaos.Lease {
	return chaos.Lease{
		Name: "n", How: "Lock", Call: b - ms, Return: b, Begin: b, End: e, Fence: fence, Longest: 100 * ms,
	}
}

func with(l chaos.Lease, change func(l *chaos.Lease)) chaos.Lease {
	change(&l)
	return l
}

// rules returns the names of the rules that a history breaks.
func rules(h *chaos.History) []string {
	found, _ := verdict(h)
	var names []string
	for _, v := range found {
		names = append(names, v.Rule)
	}
	return slices.Compact(names)
}

func TestCheckers(t *testing.T) {
	t.Parallel()
	type leases = []chaos.Lease
	free := []chaos.Free{{Name: "n", From: 1000 * ms, To: 6000 * ms}}
	waits := []chaos.Wait{{Name: "n", Client: 1, Call: 500 * ms, Return: 5500 * ms}}
	operated := chaos.Config{Operator: true}
	del := []chaos.Removal{{Kind: "DEL", Name: "n", Call: 20 * ms, Return: 21 * ms}}
	unsure := []chaos.Removal{{Kind: "DEL", Name: "n", Call: 20 * ms, Return: 21 * ms, Unsure: true}}

	for name, c := range map[string]struct {
		h    chaos.History
		want []string
	}{
		"nothing":       {chaos.History{}, nil},
		"one by one":    {chaos.History{Leases: leases{lease(10*ms, 50*ms, 1), lease(60*ms, 90*ms, 2)}}, nil},
		"without order": {chaos.History{Leases: leases{lease(60*ms, 90*ms, 2), lease(10*ms, 50*ms, 1)}}, nil},
		"without tokens": {
			chaos.History{Leases: leases{lease(10*ms, 50*ms, 5), lease(60*ms, 70*ms, 0), lease(80*ms, 90*ms, 6)}},
			nil,
		},
		"two names": {
			chaos.History{Leases: leases{lease(10*ms, 50*ms, 2), with(lease(20*ms, 60*ms, 1), func(l *chaos.Lease) {
				l.Name = "other"
			})}},
			nil,
		},
		"overlap": {
			chaos.History{Leases: leases{lease(10*ms, 50*ms, 1), lease(49*ms, 90*ms, 2)}},
			[]string{"linear", "overlap"},
		},
		"overlap with one long before": {
			chaos.History{Leases: leases{lease(10*ms, 90*ms, 1), lease(100*ms, 101*ms, 2), lease(80*ms, 85*ms, 3)}},
			[]string{"fence", "linear", "overlap"},
		},
		"overlap within another": {
			chaos.History{Leases: leases{lease(10*ms, 90*ms, 1), lease(20*ms, 30*ms, 2), lease(40*ms, 50*ms, 3)}},
			[]string{"linear", "overlap"},
		},
		"a lease without belief": {
			chaos.History{Leases: leases{lease(10*ms, 90*ms, 1), with(lease(20*ms, 90*ms, 2), func(l *chaos.Lease) {
				l.End = l.Begin - 1
			})}},
			nil,
		},
		"the same token": {
			chaos.History{Leases: leases{lease(10*ms, 50*ms, 1), lease(60*ms, 90*ms, 1)}},
			[]string{"fence", "linear"},
		},
		"a smaller token": {
			chaos.History{Leases: leases{lease(10*ms, 50*ms, 2), lease(60*ms, 90*ms, 1)}},
			[]string{"fence", "linear"},
		},
		"a smaller token than in the round before": {
			chaos.History{Leases: leases{lease(10*ms, 50*ms, 2)}, Before: map[string]int64{"n": 2}},
			[]string{"fence", "linear"},
		},
		"a smaller token of a lease without belief": {
			chaos.History{Leases: leases{lease(10*ms, 50*ms, 2), with(lease(60*ms, 90*ms, 1), func(l *chaos.Lease) {
				l.End = l.Begin - 1
			})}},
			[]string{"fence"},
		},
		"tokens of calls at the same time": {
			chaos.History{Leases: leases{
				with(lease(10*ms, 20*ms, 2), func(l *chaos.Lease) { l.End = l.Begin - 1 }),
				with(lease(30*ms, 40*ms, 1), func(l *chaos.Lease) { l.Call = 5 * ms }),
			}},
			nil,
		},
		"free for a little too long": {
			chaos.History{Free: []chaos.Free{{Name: "n", From: 1000 * ms, To: 4100 * ms}}, Waits: waits},
			[]string{"gap"},
		},
		"a free member of a pool": {
			chaos.History{
				Free:  []chaos.Free{{Name: "{p}/n", Pool: "{p}/", From: 1000 * ms, To: 6000 * ms}},
				Waits: []chaos.Wait{{Name: "{p}/", Client: 1, Call: 500 * ms, Return: 5500 * ms}},
			},
			[]string{"gap"},
		},
		"free, but not the pool's any more": {
			chaos.History{
				Free:  []chaos.Free{{Name: "{p}/n", From: 1000 * ms, To: 6000 * ms}},
				Waits: []chaos.Wait{{Name: "{p}/", Client: 1, Call: 500 * ms, Return: 5500 * ms}},
			},
			nil,
		},
		"given out after it left the pool": {
			chaos.History{Changes: changes(false), Leases: leases{pooled(30 * ms)}},
			[]string{"shrunk"},
		},
		"given out while it left the pool": {
			chaos.History{Changes: changes(false), Leases: leases{pooled(22 * ms)}},
			nil,
		},
		"given out after it came back": {
			chaos.History{
				Changes: append(changes(false), chaos.Change{Name: "n", Call: 23 * ms, Return: 24 * ms}),
				Leases:  leases{pooled(30 * ms)},
			},
			nil,
		},
		"it came back only later": {
			chaos.History{
				Changes: append(changes(false), chaos.Change{Name: "n", Call: 31 * ms, Return: 32 * ms}),
				Leases:  leases{pooled(30 * ms)},
			},
			[]string{"shrunk"},
		},
		"it may have left the pool": {chaos.History{Changes: changes(true), Leases: leases{pooled(30 * ms)}}, nil},
		"quick handovers":           {handovers(100, 2), nil},
		"lost signals":              {handovers(100, 4), []string{"signal"}},
		"few handovers, one slow":   {handovers(4, 1), nil},
		"few handovers, most slow":  {handovers(4, 3), []string{"signal"}},
		"lost wake-up":              {chaos.History{Free: free, Waits: waits}, []string{"gap"}},
		"free for short": {
			chaos.History{Free: []chaos.Free{{Name: "n", From: 1000 * ms, To: 3000 * ms}}, Waits: waits},
			nil,
		},
		"lost wake-up of another name": {
			chaos.History{Free: free, Waits: []chaos.Wait{{Name: "m", Client: 1, Return: 5500 * ms}}},
			nil,
		},
		"kept from it by a fault": {
			chaos.History{Free: free, Waits: waits, Faults: []chaos.Fault{{Client: 1, From: 2000 * ms, To: 3000 * ms}}},
			nil,
		},
		"another client's fault": {
			chaos.History{Free: free, Waits: waits, Faults: []chaos.Fault{{Client: 2, From: 2000 * ms, To: 3000 * ms}}},
			[]string{"gap"},
		},
		"everybody's fault": {
			chaos.History{Free: free, Waits: waits, Faults: []chaos.Fault{{Client: -1, From: 3000 * ms, To: 3000 * ms}}},
			nil,
		},
		"an unharmed client, and connections of others ended": {
			chaos.History{
				Free: free, Waits: waits, Unharmed: []int{1},
				Faults: []chaos.Fault{{Client: -1, From: 3000 * ms, To: 3000 * ms}},
			},
			[]string{"gap"},
		},
		"an unharmed client, and Redis was stopped": {
			chaos.History{
				Free: free, Waits: waits, Unharmed: []int{1}, // 4.5 s less 1.6 s
				Faults: []chaos.Fault{
					{Client: -1, From: 500 * ms, To: 1100 * ms}, {Client: -1, From: 2000 * ms, To: 3500 * ms},
				},
			},
			nil,
		},
		"an unharmed client, and Redis was stopped for too short": {
			chaos.History{
				Free: free, Waits: waits, Unharmed: []int{1}, // 4.5 s less 1.4 s, 0.1 and 1.3
				Faults: []chaos.Fault{
					{Client: -1, From: 0, To: 1100 * ms},
					{Client: -1, From: 4200 * ms, To: 7000 * ms},
					{Client: 2, From: 2000 * ms, To: 4000 * ms},
				},
			},
			[]string{"gap"},
		},
		"taken without a token meanwhile": {
			chaos.History{Free: free, Waits: waits, Leases: leases{lease(3000*ms, 3001*ms, 0)}},
			nil,
		},
		"not kept for long enough": {
			chaos.History{Leases: leases{with(lease(10*ms, 20*ms, 1), func(l *chaos.Lease) {
				l.AtLeast, l.Released = 50*ms, true
			}), lease(30*ms, 90*ms, 2)}},
			[]string{"kept"},
		},
		"not released, so not kept": {
			chaos.History{Leases: leases{with(lease(10*ms, 20*ms, 1), func(l *chaos.Lease) {
				l.AtLeast = 50 * ms
			}), lease(30*ms, 90*ms, 2)}},
			nil,
		},
		"taken away": {
			chaos.History{Config: operated, Removals: del, Leases: leases{lease(10*ms, 110*ms, 1), lease(30*ms, 90*ms, 2)}},
			nil,
		},
		"taken away and not told": {
			chaos.History{Config: operated, Removals: del, Leases: leases{lease(10*ms, 122*ms, 1)}},
			[]string{"told"},
		},
		"perhaps taken away": {
			chaos.History{Config: operated, Removals: unsure, Leases: leases{lease(10*ms, 200*ms, 1), lease(30*ms, 90*ms, 2)}},
			nil,
		},
		"taken away before its late reply": {
			chaos.History{Config: operated, Removals: del, Leases: leases{
				lease(25*ms, 90*ms, 2), with(lease(40*ms, 60*ms, 1), func(l *chaos.Lease) { l.Call = 10 * ms }),
			}},
			nil,
		},
		"taken away, and its reply comes after the other's end": {
			chaos.History{Config: operated, Removals: del, Leases: leases{
				lease(25*ms, 30*ms, 2), with(lease(40*ms, 60*ms, 1), func(l *chaos.Lease) { l.Call = 10 * ms }),
			}},
			nil,
		},
		"a late reply that no operator explains": {
			chaos.History{Leases: leases{
				lease(25*ms, 30*ms, 2), with(lease(40*ms, 60*ms, 1), func(l *chaos.Lease) { l.Call = 10 * ms }),
			}},
			[]string{"fence", "linear"},
		},
		"an overlap that the operator does not explain": {
			chaos.History{Config: operated, Removals: del, Leases: leases{lease(30*ms, 60*ms, 1), lease(40*ms, 90*ms, 2)}},
			[]string{"overlap"},
		},
		"seen": {chaos.History{Seen: []string{"Close took 5s"}}, []string{"seen"}},
	} {
		if got := rules(&c.h); !slices.Equal(got, c.want) {
			t.Errorf("%s: breaks %q, want %q", name, got, c.want)
		}
	}
}

// changes takes the name n out of the pool.
func changes(unsure bool) []chaos.Change {
	return []chaos.Change{{Name: "n", Out: true, Call: 20 * ms, Return: 22 * ms, Unsure: unsure}}
}

// pooled is a lease of the pool's member n.
func pooled(begin time.Duration) chaos.Lease {
	return with(lease(begin, begin+ms, 1), func(l *chaos.Lease) { l.How = "Lock of the pool" })
}

// handovers is a calm round in which two take turns, and some handovers are slow.
func handovers(n, slow int) chaos.History {
	h := chaos.History{Calm: true}
	at := time.Second
	for i := range n + 1 {
		l := lease(at, at+2*ms, int64(i+1))
		l.Unlock, l.Unlocked, l.Released = at+2*ms, at+3*ms, true
		h.Leases = append(h.Leases, l)
		h.Waits = append(h.Waits, chaos.Wait{Name: "n", Call: at, Return: at + time.Second})
		if at += 4 * ms; i < slow {
			at += 200 * ms
		}
	}
	return h
}

func TestHandovers(t *testing.T) {
	t.Parallel()
	h := handovers(3, 1)
	if got, want := h.Handovers(), []time.Duration{ms, ms, 201 * ms}; !slices.Equal(got, want) {
		t.Errorf("handovers of %v, want %v", got, want)
	}
	h.Waits[0].Return = h.Leases[1].Return - 1 // who waits during the slow one leaves before its end
	if got, want := h.Handovers(), []time.Duration{ms, ms}; !slices.Equal(got, want) {
		t.Errorf("without the one for which nobody waited: %v, want %v", got, want)
	}
	h.Calm = false
	if got := h.Handovers(); got != nil {
		t.Errorf("in a round with faults: %v, want none", got)
	}
}

func TestHistoryIsReadAsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.json")
	h := &chaos.History{
		Config: chaos.Config{Seed: 7, TTL: time.Second}, Round: 3, Before: map[string]int64{"n": 9},
		Leases: []chaos.Lease{lease(1, 2, 3)}, Faults: []chaos.Fault{{Kind: "reset", Client: 2}},
	}
	if err := h.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := chaos.Read(path)
	if err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("read %+v, %v; want %+v", got, err, h)
	}
}
