package contract

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// sparing is how little a client needs.
var sparing = []check{
	{name: "connections", needs: ClientList, run: connections},
	{name: "waiting for more than 64 names", alone: true, run: manyNames},
	{name: "goroutines", run: goroutines},
}

// A client has one connection for calls, one for renewals and one for waiting, whatever it does, all
// named after it, and none after Close.
func connections(e *env) {
	label := e.mark + " x"
	c := e.client(&lock.Options{TTL: short, Label: label})
	var leases []*lock.Lease
	for i := range 20 {
		leases = append(leases, e.take(c.Mutex(e.name(strconv.Itoa(i)))))
	}
	done := make(chan got, 20)
	for i := range 20 {
		e.lockInto(done, c, e.name(strconv.Itoa(i)))
	}
	e.queued(c, 20)
	redistest.Until(e, "there are three connections", func() bool { return len(e.named(label)) == 3 })
	for _, lease := range leases {
		e.release(lease)
	}
	for range 20 {
		e.release(e.leased(done))
	}
	if n := len(e.named(label)); n > 3 {
		e.Errorf("%d connections", n)
	}
	_ = c.Close()
	redistest.Until(e, "Redis has seen that they are closed", func() bool { return len(e.named(label)) == 0 })
}

// A wait connection serves 64 names; one more name needs another, and all are served. Newcomers may
// have one to themselves.
func manyNames(e *env) {
	const n = 65
	label := e.mark + " many"
	holder, c := e.client(&lock.Options{NoFence: true}), e.client(&lock.Options{NoFence: true, Label: label})
	var leases []*lock.Lease
	done := make(chan got, n)
	connected := func(least int) {
		e.Helper()
		fits := func(n int) bool { return n == least || n == least+1 }
		redistest.Until(e, strconv.Itoa(least)+" connections, or one more", func() bool {
			return fits(c.Stats().Connections) && (e.lacks(ClientList) || fits(len(e.named(label))))
		})
	}
	for i := range n {
		name := e.name(strconv.Itoa(i))
		if i == n-1 {
			connected(2) // for calls, and for waiting
		}
		leases = append(leases, e.take(holder.Mutex(name)))
		e.lockInto(done, c, name)
		e.queued(c, i+1)
	}
	connected(3)
	for _, lease := range leases {
		e.release(lease)
	}
	for range n {
		e.release(e.leased(done))
	}
}

// lockInto locks in a goroutine, which ends with the context that it makes or with the client.
func (e *env) lockInto(done chan<- got, c *lock.Client, name string) {
	ctx := e.soon()
	go func() {
		lease, err := c.Mutex(name).Lock(ctx)
		done <- got{lease, err}
	}()
}

// A client that holds many locks has as many goroutines as one that holds a few.
func goroutines(e *env) {
	// The goroutines of a client are told from those of other tests by a label, which they have from
	// the one that starts them.
	pprof.Do(context.Background(), pprof.Labels("contract", e.mark), func(context.Context) {
		c := e.client(&lock.Options{NoFence: true})
		var leases []*lock.Lease
		hold := func(n int) int {
			for len(leases) < n {
				leases = append(leases, e.take(c.Mutex(e.name(strconv.Itoa(len(leases))))))
			}
			return e.ownGoroutines()
		}
		few, many := hold(5), hold(65)
		if few < 2 || many > few+20 { // some come and go
			e.Errorf("%d goroutines with 5 leases, %d with 65", few, many)
		}
		for _, lease := range leases {
			e.release(lease)
		}
	})
}

// ownGoroutines counts the goroutines that have the check's label.
func (e *env) ownGoroutines() int {
	e.Helper()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		e.Fatalf("profile: %v", err)
	}
	own := fmt.Sprintf("%q:%q", "contract", e.mark)
	n, count := 0, 0
	for line := range strings.Lines(profile.String()) { // how many @ where, and on the next line the labels
		if _, err := fmt.Sscanf(line, "%d @", &count); err != nil && strings.Contains(line, own) {
			n += count
		}
	}
	return n
}

// named returns the ids of the connections that a label's clients have.
func (e *env) named(label string) (ids []string) {
	e.Helper()
	list, _ := e.do("CLIENT", "LIST").([]byte)
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if strings.Contains(line, " name=holdfast:"+strings.ReplaceAll(label, " ", "_")+" ") {
			ids = append(ids, strings.TrimPrefix(fields[0], "id="))
		}
	}
	return ids
}

// cut breaks the connections that a label's clients have.
func (e *env) cut(label string) {
	e.Helper()
	ids := e.named(label)
	if len(ids) == 0 {
		e.Errorf("%q has no connections", label)
	}
	for _, id := range ids {
		e.do("CLIENT", "KILL", "ID", id)
	}
}
