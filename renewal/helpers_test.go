package renewal

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ttl    = 30 * time.Second
	margin = 1500 * time.Millisecond
	belief = ttl - margin // from the send to validUntil
)

var (
	errDone = errors.New("done")
	errNet  = errors.New("network is down")
)

// bubble runs f as a parallel test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// open returns a set that is closed when the test ends.
func open(t *testing.T, extend ExtendFunc[int], o *Options[int]) *Set[int] {
	t.Helper()
	s := New(extend, o)
	t.Cleanup(func() { s.Close(nil) })
	return s
}

// add adds a term of the usual length that was acquired just now.
func add(t *testing.T, s *Set[int]) *Term[int] {
	t.Helper()
	return addConfig(t, s, Config{TTL: ttl, Margin: margin})
}

// addConfig adds a term; a zero Sent is now.
func addConfig(t *testing.T, s *Set[int], c Config) *Term[int] {
	t.Helper()
	if c.Sent == (Instant{}) {
		c.Sent = s.clock()
	}
	term, err := s.Add(7, c)
	if err != nil {
		t.Fatalf("Add(%+v): %v", c, err)
	}
	return term
}

// always is an ExtendFunc that answers all requests alike, at once.
func always(o Outcome, err error) ExtendFunc[int] {
	return func(batch []Request[int], _ time.Duration, written func()) []Result {
		written()
		return slices.Repeat([]Result{{Outcome: o, Err: err}}, len(batch))
	}
}

// replying puts d between the write and the reply of f.
func replying(d time.Duration, f ExtendFunc[int]) ExtendFunc[int] {
	return func(batch []Request[int], limit time.Duration, written func()) []Result {
		results := f(batch, limit, written)
		time.Sleep(d)
		return results
	}
}

// hanging is an ExtendFunc that writes and gets no reply until release is closed.
func hanging(release <-chan struct{}) ExtendFunc[int] {
	return func(_ []Request[int], _ time.Duration, written func()) []Result {
		written()
		<-release
		return nil
	}
}

// A call is what one call of an ExtendFunc was given.
type call struct {
	at    time.Time
	batch []Request[int]
	limit time.Duration
}

// A recorder remembers calls of an ExtendFunc.
type recorder struct {
	mu     sync.Mutex      // guards the fields below
	extend ExtendFunc[int] // what answers
	calls  []call
}

// use makes f answer from now on.
func (r *recorder) use(f ExtendFunc[int]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.extend = f
}

func (r *recorder) Extend(batch []Request[int], limit time.Duration, written func()) []Result {
	r.mu.Lock()
	r.calls = append(r.calls, call{time.Now(), slices.Clone(batch), limit})
	extend := r.extend
	r.mu.Unlock()
	return extend(batch, limit, written)
}

// all returns the calls so far.
func (r *recorder) all() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// times returns how long after start each call was.
func (r *recorder) times(start time.Time) []time.Duration {
	var times []time.Duration
	for _, c := range r.all() {
		times = append(times, c.at.Sub(start))
	}
	return times
}

// setWall gives s a wall clock that can be stepped. The returned function steps it.
func setWall(s *Set[int]) func(time.Duration) {
	var offset atomic.Int64
	s.clock = func() Instant {
		now := Now()
		now.wall += time.Duration(offset.Load())
		return now
	}
	return func(d time.Duration) { offset.Add(int64(d)) }
}

// stopTimers makes all timers of the set that end terms late, for ever.
func stopTimers(s *Set[int]) {
	synctest.Wait() // what has fired already is over
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticker.Stop()
	for t := range s.live {
		t.timer.Stop()
	}
}

func checkLive(t *testing.T, term *Term[int]) {
	t.Helper()
	synctest.Wait()
	if term.Err() != nil || !term.Valid() {
		t.Fatalf("term has ended: Err %v, Valid %v", term.Err(), term.Valid())
	}
}

// checkEnded checks that the term has ended with a cause that is all of causes.
func checkEnded(t *testing.T, term *Term[int], causes ...error) {
	t.Helper()
	synctest.Wait()
	select {
	case <-term.Done():
	default:
		t.Fatal("Done is not closed")
	}
	if term.Valid() {
		t.Error("Valid is true after Done")
	}
	for _, cause := range causes {
		if !errors.Is(term.Err(), cause) {
			t.Errorf("Err is %v, want one that is %v", term.Err(), cause)
		}
	}
	if slices.Contains(term.set.Terms(), term) {
		t.Error("an ended term is in Terms")
	}
}

func checkTimes(t *testing.T, what string, got, want []time.Duration) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s at %v, want %v", what, got, want)
	}
}

// checkUntil checks that validUntil is d after start.
func checkUntil(t *testing.T, term *Term[int], start time.Time, d time.Duration) {
	t.Helper()
	if got := term.Until().Sub(start); got != d {
		t.Errorf("validUntil is %v after the start, want %v", got, d)
	}
}
