package signal_test

import (
	"slices"
	"testing"
	"time"
)

func TestRegister(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, []string{"a", "a", "a", "b", "c"})
		time.Sleep(time.Second)
		check(t, s, map[string]int{"a": 3, "b": 1, "c": 1})
		short := joinAll(t, s, h, []string{"short"})
		time.Sleep(10 * ms)
		leaveAll(short)
		all[0].Leave(false)
		all[3].Leave(false)
		time.Sleep(time.Second)
		check(t, s, map[string]int{"a": 2, "c": 1})
		for _, look := range s.lastLooks() {
			if look.Waiters != nil && slices.Contains(look.Names, plain("short")) {
				t.Error("a name of 10 ms was registered")
			}
		}
		b := joinAll(t, s, h, []string{"b"})
		time.Sleep(time.Second)
		check(t, s, map[string]int{"a": 2, "b": 1, "c": 1})
		leaveAll(append(b, all[1], all[2], all[4]))
		time.Sleep(6 * time.Second)
		check(t, s, map[string]int{})
	})
}

func check(t *testing.T, s *store, want map[string]int) {
	t.Helper()
	got := s.register()
	for name, n := range want {
		if got[name] != n {
			t.Errorf("register: %d wait for %s, want %d", got[name], name, n)
		}
	}
	for name, n := range got {
		if want[name] == 0 {
			t.Errorf("register: %d wait for %s, want nobody", n, name)
		}
	}
}

// oneEach is the register in which one waits for each name.
func oneEach(names []string) map[string]int {
	register := make(map[string]int)
	for _, name := range names {
		register[name] = 1
	}
	return register
}

// Names that were handed over, that moved by leaving and joining, or whose look failed leave the
// register all the same.
func TestRegisterFollowsTheNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 200))
		time.Sleep(time.Second)
		check(t, s, oneEach(names("n", 200)))
		leaveAll(all[:150])
		time.Sleep(6 * time.Second) // handed over to fewer connections
		check(t, s, oneEach(names("n", 200)[150:]))

		s.failing(fails(errBroken, "look"))
		leaveAll(all[150:180])
		time.Sleep(3 * time.Second)
		s.failing(nil)
		time.Sleep(time.Second)
		check(t, s, oneEach(names("n", 200)[180:]))
		leaveAll(all[180:])
	})
}
