package renewal_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/renewal"
)

// A toy is a store of one lease, in this process.
type toy struct{ owner string }

// Extend is a renewal.ExtendFunc. Each Term's Data is who it belongs to.
func (s *toy) Extend(
	batch []renewal.Request[string], _ time.Duration, written func(),
) []renewal.Result {
	written() // nothing is on a wire here
	results := make([]renewal.Result, len(batch))
	for i, req := range batch {
		if req.Term.Data() == s.owner {
			results[i] = renewal.Result{Outcome: renewal.Renewed}
		} else {
			results[i] = renewal.Result{
				Outcome: renewal.NotOwner,
				Err:     fmt.Errorf("it belongs to %s", s.owner),
			}
		}
	}
	return results
}

// A term is renewed until it is ended, and not after that.
func ExampleSet() {
	store := &toy{owner: "alice"}
	renewed := make(chan struct{}, 1)
	set := renewal.New(store.Extend, &renewal.Options[string]{
		Renewed: func(*renewal.Term[string], time.Time) { renewed <- struct{}{} },
	})
	defer set.Close(nil)

	sent := renewal.Now() // then acquire the lease in the store
	term, err := set.Add("alice", renewal.Config{
		TTL: 30 * time.Second, Margin: time.Second, Sent: sent,
	})
	if err != nil {
		fmt.Println("acquired too late:", err)
		return
	}
	term.Hurry() // else it is renewed in ten seconds
	<-renewed
	fmt.Println("valid:", term.Valid())
	fmt.Println("ended in time:", term.End(errors.New("work is done")))
	fmt.Println("valid:", term.Valid(), "because", term.Err())
	// Output:
	// valid: true
	// ended in time: true
	// valid: false because work is done
}

// A term ends when the store says that somebody else has the lease.
func ExampleTerm() {
	store := &toy{owner: "bob"}
	set := renewal.New(store.Extend, nil)
	defer set.Close(nil)

	term, err := set.Add("alice", renewal.Config{TTL: 30 * time.Second, Sent: renewal.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}
	term.Hurry() // else it is renewed in ten seconds
	<-term.Done()
	fmt.Println(term.Err())
	fmt.Println(errors.Is(term.Err(), renewal.ErrNotOwner))
	// Output:
	// renewal: term is not the owner any more: it belongs to bob
	// true
}

// Retime and Confirm surround an extend that the caller sends itself.
func ExampleTerm_Retime() {
	set := renewal.New((&toy{owner: "alice"}).Extend, nil)
	defer set.Close(nil)
	term, err := set.Add("alice", renewal.Config{TTL: time.Minute, Sent: renewal.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}

	sent := term.Retime(time.Hour, time.Minute)
	fmt.Println("before the reply:", time.Until(term.Until()) < time.Minute)
	// ... the store says that the lease is ours, for an hour more ...
	if err := term.Confirm(sent, time.Hour, time.Minute); err != nil {
		fmt.Println("lost meanwhile:", err)
	}
	fmt.Println("after it:", time.Until(term.Until()).Round(time.Minute))
	// Output:
	// before the reply: true
	// after it: 59m0s
}

// A term without renewal ends at Sent + TTL - Margin.
func ExampleConfig() {
	set := renewal.New((&toy{}).Extend, nil)
	defer set.Close(nil)
	sent := renewal.Now()
	term, err := set.Add("alice", renewal.Config{
		TTL: 300 * time.Millisecond, Margin: 60 * time.Millisecond, Sent: sent, NoRenewal: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-term.Done()
	fmt.Println(term.Until().Sub(sent.Time()), errors.Is(term.Err(), renewal.ErrExpired))
	// Output: 240ms true
}

// However well it is renewed, a term ends at Sent + MaxHold.
func ExampleConfig_maxHold() {
	set := renewal.New((&toy{owner: "alice"}).Extend, nil)
	defer set.Close(nil)
	sent := renewal.Now()
	term, err := set.Add("alice", renewal.Config{
		TTL: 30 * time.Second, MaxHold: 500 * time.Millisecond, Sent: sent,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-term.Done()
	fmt.Println(term.Until().Sub(sent.Time()), term.Err())
	// Output: 500ms renewal: term was held for its maximum
}

// A lease that was made permanent in the store is valid until the store disowns it.
func ExampleTerm_Hurry() {
	confirmed := make(chan time.Time, 1)
	set := renewal.New((&toy{owner: "alice"}).Extend, &renewal.Options[string]{
		Renewed: func(_ *renewal.Term[string], until time.Time) { confirmed <- until },
	})
	defer set.Close(nil)
	term, err := set.Add("alice", renewal.Config{
		TTL: 30 * time.Second, Margin: time.Second, Sent: renewal.Now(),
		NoExpiry: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("it expires:", !term.Until().IsZero())

	// ... make it permanent in the store, and say so by Confirm; if that failed: ...
	term.Hurry()
	fmt.Println("it expires:", !(<-confirmed).IsZero())
	// Output:
	// it expires: true
	// it expires: false
}

// The observers are told what becomes of the terms.
func ExampleOptions() {
	ended := make(chan struct{})
	set := renewal.New((&toy{owner: "bob"}).Extend, &renewal.Options[string]{
		Renewed: func(t *renewal.Term[string], until time.Time) { fmt.Println(t.Data(), "until", until) },
		Failed:  func(t *renewal.Term[string], err error) { fmt.Println(t.Data(), "failed:", err) },
		Ended: func(t *renewal.Term[string], cause error) {
			fmt.Println(t.Data(), "has ended:", cause)
			close(ended)
		},
	})
	defer set.Close(nil)
	term, err := set.Add("alice", renewal.Config{TTL: 30 * time.Second, Sent: renewal.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}
	term.Hurry() // else it is renewed in ten seconds
	<-ended
	// Output: alice has ended: renewal: term is not the owner any more: it belongs to bob
}

// An ExtendFunc answers each Request of a batch with a Result.
func ExampleExtendFunc() {
	store := &toy{owner: "alice"}
	var extend renewal.ExtendFunc[string] = func(
		batch []renewal.Request[string], limit time.Duration, written func(),
	) []renewal.Result {
		deadline := time.Now().Add(limit)
		// ... write the whole batch by the deadline, then say so ...
		results := store.Extend(batch, limit, written)
		// ... read the replies by the deadline; what is missing counts as failed ...
		if time.Now().After(deadline) {
			return nil
		}
		return results
	}
	set := renewal.New(extend, nil)
	set.Close(nil)
	fmt.Println(len(set.Terms()))
	// Output: 0
}

// A Request says which term to extend, by how much.
func ExampleRequest() {
	asked := make(chan renewal.Request[string], 1)
	extend := func(batch []renewal.Request[string], _ time.Duration, written func()) []renewal.Result {
		written()
		asked <- batch[0]
		return []renewal.Result{{Outcome: renewal.NotOwner}}
	}
	set := renewal.New(extend, nil)
	defer set.Close(nil)
	term, err := set.Add("reports:nightly", renewal.Config{TTL: 30 * time.Second, Sent: renewal.Now()})
	if err != nil {
		fmt.Println(err)
		return
	}
	term.Hurry() // else it is renewed in ten seconds
	req := <-asked
	fmt.Println(req.Term.Data(), req.TTL)
	// Output: reports:nightly 30s
}

// The zero Result is a failure: a renewal that nobody confirmed.
func ExampleResult() {
	var unknown renewal.Result
	lost := renewal.Result{Outcome: renewal.NotOwner, Err: errors.New("bob has it")}
	fmt.Println(unknown.Outcome)
	fmt.Println(lost.Outcome, lost.Err)
	// Output:
	// failed
	// not owner bob has it
}

func ExampleOutcome() {
	fmt.Println(renewal.Failed, renewal.Renewed, renewal.NotOwner, renewal.Again)
	// Output: failed renewed not owner again
}

// An Instant is read before a command is sent, so that the time the reply takes shortens the lease.
func ExampleInstant() {
	sent := renewal.Now()
	// ... send the command, wait for its reply ...
	fmt.Println(time.Since(sent.Time()) >= 0)
	// Output: true
}
