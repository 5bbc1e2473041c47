package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testing/parrot"
	"github.com/holdfast-go/holdfast/signal"
)

func TestWaitReplies(t *testing.T) {
	t.Parallel()
	for _, data := range parrot.Seeds() {
		checkWaiting(t, parrot.Make(data))
	}
}

// FuzzWaitReplies checks that no reply to a look, or on a connection for waiting, makes a panic,
// and that none is taken for what it does not say.
func FuzzWaitReplies(f *testing.F) {
	f.Add([]byte{7, 2, 3, 15, 3, 1})
	f.Fuzz(func(t *testing.T, data []byte) { checkWaiting(t, parrot.Make(data)) })
}

// checkWaiting has each exchange for waiting answered with this reply.
func checkWaiting(t *testing.T, reply any) {
	t.Helper()
	checkLook(t, reply)
	want, good := readBy(reply, "job", "other")
	names, err := connect(t, hear(t, "BLPOP", reply)).Block(waitedFor("job", "other"), time.Second)
	if good != (err == nil) || good && !slices.Equal(names, waitedFor(strings.Fields(want)...)) {
		t.Errorf("block: the reply %s is taken for %q, %v", parrot.Show(reply), names, err)
	}
	checkTaken(t, reply)
	want, good = readBy(reply, "job")
	signalled, err := connect(t, hear(t, "BLPOP", reply)).Probe(signal.Name{Name: "job"})
	if good != (err == nil) || good && signalled != (want == "job") {
		t.Errorf("probe: the reply %s is taken for %v, %v", parrot.Show(reply), signalled, err)
	}
}

// checkLook has a look at two names answered with this reply.
func checkLook(t *testing.T, reply any) {
	t.Helper()
	look := signal.Look{Names: waitedFor("job", "job2"), Waiters: []int{1, 1}}
	left, err := hear(t, "look", reply).Wait().Look(t.Context(), 0, look)
	if lookedAt(reply) != (err == nil) && !repeated(reply) {
		t.Errorf("look: the reply %s is taken for %v, %v", parrot.Show(reply), left, err)
	}
	for _, d := range left {
		if d == signal.Unknown {
			t.Errorf("look: the reply %s is taken for %v", parrot.Show(reply), left)
		}
	}
}

// checkTaken has the take script answered with this reply.
func checkTaken(t *testing.T, reply any) {
	t.Helper()
	names, err := connect(t, hear(t, "take", reply)).Block(waitedFor("job", "other"), time.Second)
	for _, name := range names {
		if name.Name != "job" && name.Name != "other" {
			t.Errorf("take: the reply %s is taken for %q", parrot.Show(reply), names)
		}
	}
	if err != nil && !errors.Is(err, store.ErrReply) {
		t.Errorf("take: the reply %s is %v", parrot.Show(reply), err)
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

func connect(t *testing.T, s *store.Store) signal.Conn {
	t.Helper()
	conn, err := s.Wait().Dialer(0).Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// lookedAt reports whether the reply is one to a look at two names.
func lookedAt(reply any) bool {
	parts, _ := reply.([]any)
	good := len(parts) == 2
	for _, part := range parts {
		pttl, ok := part.(int64)
		word, _ := part.([]byte)
		good = good && (ok && pttl >= -2 || string(word) == "foreign")
	}
	return good
}

// readBy returns the name whose signal the reply to a BLPOP for these brings: "" for none.
func readBy(reply any, names ...string) (name string, ok bool) {
	parts, _ := reply.([]any)
	if reply == nil || len(parts) != 2 {
		return "", reply == nil
	}
	key, ok := parts[0].([]byte)
	_, ok2 := parts[1].([]byte)
	name, ok3 := strings.CutPrefix(string(key), "lock-signal:")
	return name, ok && ok2 && ok3 && slices.Contains(names, name)
}

// repeated reports whether a call is repeated after this reply, and gets the usual one then.
func repeated(reply any) bool {
	err, ok := reply.(redis.Error)
	return ok && (store.NoScript(err) || store.Misplaced(err))
}
