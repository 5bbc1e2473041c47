package renewal

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A key is what the store keeps of a term, and what the test knows of it. It is the term's Data.
type key struct {
	mu     sync.Mutex // guards expiry
	expiry time.Time  // when the store drops it

	gone  atomic.Bool  // End has returned: no renewal may be written from now on
	ended atomic.Int32 // how often Ended was called
}

// extend is what the store does: it never shortens.
func (k *key) extend(ttl time.Duration) Result {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if !now.Before(k.expiry) {
		return Result{Outcome: NotOwner}
	}
	if until := now.Add(ttl); until.After(k.expiry) {
		k.expiry = until
	}
	return Result{Outcome: Renewed}
}

// checkBelief checks that a term is believed in only while the store keeps it.
func (k *key) checkBelief(t *testing.T, term *Term[*key]) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if term.Valid() && !time.Now().Before(k.expiry) {
		t.Errorf("valid %v after the store dropped it", time.Since(k.expiry))
	}
}

// doze sleeps for up to d.
func doze(d time.Duration) { time.Sleep(rand.N(d) + 1) }

// stressExtend is a store behind a bad network: batches are lost before or after the store has
// seen them, hang for up to their limit, or come back in part.
func stressExtend(t *testing.T) ExtendFunc[*key] {
	return func(batch []Request[*key], limit time.Duration, written func()) []Result {
		start := time.Now()
		if rand.N(10) == 0 {
			return nil // no connection
		}
		doze(limit / 2)
		for _, req := range batch {
			if req.Term.Data().gone.Load() {
				t.Error("a term is written after its End returned")
			}
		}
		written()
		doze(limit / 4)
		results := make([]Result, len(batch))
		for i, req := range batch {
			switch rand.N(8) {
			case 0:
				results[i] = Result{Outcome: Again}
			default:
				results[i] = req.Term.Data().extend(req.TTL)
			}
		}
		if rand.N(4) == 0 {
			time.Sleep(time.Until(start.Add(limit)))
			return results[:rand.N(len(results)+1)] // the reply is lost, or the rest of it
		}
		return results
	}
}

// live has one term do random things for as long as it lives.
func live(t *testing.T, term *Term[*key]) {
	k := term.Data()
	for term.Err() == nil {
		k.checkBelief(t, term)
		doze(term.TTL() / 4)
		k.checkBelief(t, term)
		switch rand.N(6) {
		case 0:
			ttl := 100*time.Millisecond + rand.N(5*time.Second)
			sent := term.Retime(ttl, ttl/20)
			if rand.N(2) == 0 {
				doze(100 * time.Millisecond)
			}
			if k.extend(ttl).Outcome == Renewed && rand.N(3) > 0 {
				doze(100 * time.Millisecond)
				_ = term.Confirm(sent, ttl, ttl/20) // the cause; the loop sees it too
			}
		case 1:
			if rand.N(5) == 0 {
				term.End(errDone)
				k.gone.Store(true)
			}
		}
	}
	k.checkBelief(t, term)
}

// acquire adds a term as a client would.
func acquire(t *testing.T, s *Set[*key]) (*Term[*key], error) {
	t.Helper()
	k := new(key)
	ttl := 100*time.Millisecond + rand.N(5*time.Second)
	sent := Now()
	doze(10 * time.Millisecond)
	k.expiry = time.Now().Add(ttl)
	doze(10 * time.Millisecond)
	return s.Add(k, Config{
		TTL: ttl, Margin: ttl / 20, Sent: sent, NoRenewal: rand.N(10) == 0,
	})
}

func TestStress(t *testing.T) {
	for range 3 {
		t.Run("", func(t *testing.T) { bubble(t, stress) })
	}
}

// stress runs workers that acquire one term after the other until the set is closed under them.
func stress(t *testing.T) {
	var renewed, failed, ended, added atomic.Int32
	s := New(stressExtend(t), &Options[*key]{
		Renewed: func(*Term[*key], time.Time) { renewed.Add(1) },
		Failed:  func(*Term[*key], error) { failed.Add(1) },
		Ended: func(term *Term[*key], _ error) {
			ended.Add(1)
			if n := term.Data().ended.Add(1); n != 1 || term.Err() == nil {
				t.Errorf("Ended was called %d times, Err %v", n, term.Err())
			}
		},
	})
	var workers sync.WaitGroup
	for range 50 {
		workers.Go(func() {
			for {
				term, err := acquire(t, s)
				if err == ErrClosed {
					return
				}
				if err == nil {
					added.Add(1)
					live(t, term)
				}
			}
		})
	}
	time.Sleep(time.Minute)
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() { s.Close(nil) })
	}
	closers.Wait()
	workers.Wait()
	if added.Load() != ended.Load() || len(s.Terms()) != 0 {
		t.Errorf("%d terms, %d ended, %d left", added.Load(), ended.Load(), len(s.Terms()))
	}
	if renewed.Load() < 100 || failed.Load() < 100 || added.Load() < 100 {
		t.Errorf("%d renewed, %d failed, %d added: this proves nothing",
			renewed.Load(), failed.Load(), added.Load())
	}
}
