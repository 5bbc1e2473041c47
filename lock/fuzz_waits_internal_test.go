package lock

import (
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
	c := fuzzClient(t, "look", reply)
	link := fuzzConnect(t, c)
	left, err := link.Look(signal.Look{Names: []string{"job", "job2"}, Waiters: []int{1, 1}})
	if _, good := fuzzLooked(reply); good != (err == nil) && !fuzzRepeated(reply) {
		t.Errorf("look: the reply %s is taken for %v, %v", fuzzShow(reply), left, err)
	}
	for _, d := range left {
		if d < signal.Foreign {
			t.Errorf("look: the reply %s is taken for %v", fuzzShow(reply), left)
		}
	}
	want, good := fuzzRead(reply, "job", "other")
	name, err := fuzzConnect(t, fuzzClient(t, "BLPOP", reply)).Block([]string{"job", "other"}, time.Second)
	if good != (err == nil) || good && name != want {
		t.Errorf("block: the reply %s is taken for %q, %v", fuzzShow(reply), name, err)
	}
	want, good = fuzzRead(reply, "job")
	signalled, err := fuzzConnect(t, fuzzClient(t, "BLPOP", reply)).Probe("job")
	if good != (err == nil) || good && signalled != (want == "job") {
		t.Errorf("probe: the reply %s is taken for %v, %v", fuzzShow(reply), signalled, err)
	}
}

func fuzzConnect(t *testing.T, c *Client) signal.Conn {
	t.Helper()
	link, err := c.waits.Connect(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	return link
}

// fuzzLooked reports whether the reply is one to a look at two names.
func fuzzLooked(reply any) ([]int64, bool) {
	parts, _ := reply.([]any)
	var left []int64
	for _, part := range parts {
		if pttl, ok := part.(int64); ok { // below -3, too: the caller has to ask
			left = append(left, pttl)
		}
	}
	return left, len(left) == 2 && len(parts) == 2
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
