package signal_test

import (
	"fmt"
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
			if look.Waiters != nil && slices.Contains(append(look.Names, look.Gone...), "short") {
				t.Error("a name of 10 ms was registered")
			}
		}
		b := joinAll(t, s, h, []string{"b"})
		time.Sleep(time.Second)
		check(t, s, map[string]int{"a": 2, "b": 1, "c": 1})
		leaveAll(append(b, all[1], all[2], all[4]))
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
		all := joinAll(t, s, h, names("n", 80))
		time.Sleep(time.Second)
		leaveAll(all[:30])
		time.Sleep(5 * time.Second)
		if open, _ := s.connections(); open != 1 {
			t.Fatalf("%d connections, want a hand-over to one", open)
		}
		leaveAll(all[70:]) // among them the ones that were handed over
		time.Sleep(time.Second)
		check(t, s, oneEach(names("n", 70)[30:]))

		s.failing(fails(errBroken, "look"))
		leaveAll(all[30:60])
		time.Sleep(3 * time.Second)
		s.failing(nil)
		time.Sleep(1300 * ms)
		check(t, s, oneEach(names("n", 70)[60:]))
		leaveAll(all[60:70])
	})
}

// A name handed over that leaves before its new connection's next full look.
func TestRegisterAfterHandOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 65))
		time.Sleep(time.Second)
		all[0].Leave(false)
		for open := 2; open == 2; open, _ = s.connections() {
			time.Sleep(ms)
		}
		all[64].Leave(false) // it was alone on its connection
		time.Sleep(1200 * ms)
		check(t, s, oneEach(names("n", 64)[1:]))
		leaveAll(all[1:64])
	})
}

// The register does not grow with every name that there ever was, and no look is too long.
func TestRegisterIsBegunAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		stays := joinAll(t, s, h, []string{"stays"})
		for i := range 300 {
			all := joinAll(t, s, h, names(fmt.Sprintf("n%d-", i), 20))
			time.Sleep(time.Second)
			leaveAll(all)
		}
		time.Sleep(2 * time.Second)
		check(t, s, map[string]int{"stays": 1})
		s.mu.Lock()
		if n := len(s.hash); n > 200 {
			t.Errorf("the register has %d names", n)
		}
		s.mu.Unlock()
		for _, look := range s.lastLooks() {
			if n := len(look.Names) + len(look.Gone); n > 128 {
				t.Errorf("a look with %d names", n)
			}
		}
		leaveAll(stays)
	})
}

// Thousands of names that leave together do so in looks of bounded size.
func TestRegisterOfMany(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, names("n", 600))
		time.Sleep(time.Second)
		leaveAll(all[:250])
		time.Sleep(10 * time.Second)
		check(t, s, oneEach(names("n", 600)[250:]))
		for _, look := range s.lastLooks() {
			if len(look.Gone) > 64 {
				t.Errorf("a look with %d names that have gone", len(look.Gone))
			}
		}
		leaveAll(all[250:])
	})
}

// A look that fails tells nothing: what it told of names that have gone is told again, unless they
// are back.
func TestRegisterAfterAFailedLook(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore()
		h := start(t, s, nil)
		all := joinAll(t, s, h, []string{"a", "b", "c"})
		time.Sleep(time.Second)
		s.failing(fails(errBroken, "look"))
		leaveAll(all[:2])
		time.Sleep(time.Second)
		all[0] = joinAll(t, s, h, []string{"a"})[0]
		time.Sleep(time.Second)
		s.failing(nil)
		time.Sleep(1300 * ms)
		check(t, s, map[string]int{"a": 1, "c": 1})
		all[0].Leave(false)
		time.Sleep(1300 * ms)
		check(t, s, map[string]int{"c": 1})
		leaveAll(all[2:])
	})
}
