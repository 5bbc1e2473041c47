package signal

// A register is what the store's register of who waits has from the connections of one group. It
// is guarded by hub.mu.
type register struct {
	told   map[string]struct{} // names that it has with waiters, or may have
	gone   map[string]struct{} // those of them for which nobody waits any more
	ghosts int                 // how many names it has without waiters, at most
	anew   bool                // it is to be begun anew
}

func newRegister() *register {
	return &register{told: make(map[string]struct{}), gone: make(map[string]struct{})}
}

// leftLocked takes in that nobody waits for the name any more.
func (r *register) leftLocked(name string) {
	if _, ok := r.told[name]; ok {
		r.gone[name] = struct{}{}
	}
}

// enterLocked adds to a look what the register is to be told with it: that these names have
// waiters, and which have none any more. When those make up half of it, it is begun anew; the names
// of other connections come back with their own next looks.
func (r *register) enterLocked(look *Look) {
	if r.ghosts+len(r.gone) > max(roomPerConn, len(r.told)-len(r.gone)) {
		r.anew = true
	}
	for name := range r.gone {
		if !r.anew && len(look.Gone) == roomPerConn {
			break // the others another time: a look has its limits
		}
		delete(r.told, name)
		delete(r.gone, name)
		if !r.anew {
			look.Gone = append(look.Gone, name)
			r.ghosts++
		}
	}
	if r.anew {
		look.Anew, r.anew, r.ghosts = true, false, 0
	}
	for _, name := range look.Names {
		r.told[name] = struct{}{}
	}
}

// failedLocked takes in that a look failed: what it told of names that have gone is told again.
func (r *register) failedLocked(look Look, entries map[string]*entry) {
	r.anew = r.anew || look.Anew
	for _, name := range look.Gone {
		r.told[name] = struct{}{}
		if entries[name] == nil {
			r.gone[name] = struct{}{}
		}
	}
}
