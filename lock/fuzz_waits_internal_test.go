package lock

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/signal"
)

func TestWaitReplies(t *testing.T) {
	t.Parallel()
	for _, data := range fuzzSeeds() {
		reply, _ := fuzzReply(data, 0)
		checkWaiting(t, reply)
	}
}

// FuzzWaitReplies does the same for the replies on a connection for waiting.
func FuzzWaitReplies(f *testing.F) {
	f.Add([]byte{7, 2, 3, 15, 3, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, _ := fuzzReply(data, 0)
		checkWaiting(t, reply)
	})
}

// checkWaiting has each exchange of a connection for waiting answered with this reply.
func checkWaiting(t *testing.T, reply any) {
	t.Helper()
	store := waitStore{fuzzClient(t, "look", reply).store}
	left, err := store.Look(t.Context(), 0, signal.Look{Names: waitedFor("job", "job2"), Waiters: []int{1, 1}})
	if good := fuzzLooked(reply); good != (err == nil) && !fuzzRepeated(reply) {
		t.Errorf("look: the reply %s is taken for %v, %v", fuzzShow(reply), left, err)
	}
	for _, d := range left {
		if d == signal.Unknown {
			t.Errorf("look: the reply %s is taken for %v", fuzzShow(reply), left)
		}
	}
	want, good := fuzzRead(reply, "job", "other")
	names, err := fuzzConnect(t, fuzzClient(t, "BLPOP", reply)).Block(waitedFor("job", "other"), time.Second)
	if good != (err == nil) || good && !slices.Equal(names, waitedFor(strings.Fields(want)...)) {
		t.Errorf("block: the reply %s is taken for %q, %v", fuzzShow(reply), names, err)
	}
	checkTaken(t, reply)
	want, good = fuzzRead(reply, "job")
	signalled, err := fuzzConnect(t, fuzzClient(t, "BLPOP", reply)).Probe(signal.Name{Name: "job"})
	if good != (err == nil) || good && signalled != (want == "job") {
		t.Errorf("probe: the reply %s is taken for %v, %v", fuzzShow(reply), signalled, err)
	}
}

// checkTaken has the take script answered with this reply.
func checkTaken(t *testing.T, reply any) {
	t.Helper()
	names, err := fuzzConnect(t, fuzzClient(t, "take", reply)).Block(waitedFor("job", "other"), time.Second)
	for _, name := range names {
		if name.Name != "job" && name.Name != "other" {
			t.Errorf("take: the reply %s is taken for %q", fuzzShow(reply), names)
		}
	}
	if err != nil && !errors.Is(err, errReply) {
		t.Errorf("take: the reply %s is %v", fuzzShow(reply), err)
	}
}

// waitedFor returns the names as signal has them.
func waitedFor(names ...string) []signal.Name {
	all := make([]signal.Name, len(names))
	for i, name := range names {
		all[i] = signal.Name{Name: name}
	}
	return all
}

func fuzzConnect(t *testing.T, c *Client) signal.Conn {
	t.Helper()
	link, err := waitStore{c.store}.Dialer(0).Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	return link
}

// fuzzLooked reports whether the reply is one to a look at two names.
func fuzzLooked(reply any) bool {
	parts, _ := reply.([]any)
	good := len(parts) == 2
	for _, part := range parts {
		pttl, ok := part.(int64)
		word, _ := part.([]byte)
		good = good && (ok && pttl >= -2 || string(word) == "foreign")
	}
	return good
}

// fuzzRead returns the name whose signal the reply to a BLPOP for these brings: "" for none.
func fuzzRead(reply any, names ...string) (name string, ok bool) {
	parts, _ := reply.([]any)
	if reply == nil || len(parts) != 2 {
		return "", reply == nil
	}
	key, ok := parts[0].([]byte)
	_, ok2 := parts[1].([]byte)
	name, ok3 := strings.CutPrefix(string(key), "lock-signal:")
	return name, ok && ok2 && ok3 && slices.Contains(names, name)
}
