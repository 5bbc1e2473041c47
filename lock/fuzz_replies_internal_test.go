package lock

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// A conversation is a call, what the odd reply in it means to it, and what it told.
type conversation struct {
	odd   string
	call  func(t *testing.T, c *Client) (told string, err error)
	means func(reply any) (told string, ok bool) // ok: the reply is one that is given; nil: anything goes
}

var conversations = []conversation{
	{"acquire", callTryLock, meansAcquired},
	{"release", callUnlock, meansReleased},
	{"extend", callExtend, meansExtended},
	{"owner", callOwner, meansOwner},
	{"reset", callReset, meansReset},
	{"SCAN", callResetAll, meansScanned},
	{"owner", callResetAll, meansJudged},
	{"release", callResetAll, meansJudgedAndReleased},
	{"release", callReleaseID, meansReleased},
	{"acquire", callAdopt, meansToken},
	{"extend", callDetach, meansExtended},
	{"SCAN", callList, nil},
	{"SCAN hash", callList, nil},
	{"HGETALL", callList, nil},
	{"owner", callList, nil},
	{"INFO", callCheck, nil},
	{"ROLE", callCheck, nil},
	{"CONFIG", callCheck, nil},
	{"TIME", callCheck, nil},
	{"EVAL", callCheck, nil},
	{"BLPOP", callCheck, nil},
	{"probe", callCheck, nil},
	{"CLIENT", callTryLock, nil},
}

func callTryLock(t *testing.T, c *Client) (string, error) {
	lease, err := c.Mutex("job").TryLock(t.Context())
	var held *HeldError
	switch {
	case errors.As(err, &held):
		return fmt.Sprint("held ", fuzzOwner(held.Owner)), nil
	case err != nil:
		return "", err
	}
	_ = lease.Unlock(t.Context())
	return fmt.Sprint("token ", lease.Fence()), nil
}

func callUnlock(t *testing.T, c *Client) (string, error) {
	lease, err := c.Mutex("job").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = lease.Unlock(t.Context())
	if errors.Is(err, ErrNotHeld) && !errors.Is(err, ErrWrongType) {
		return "not held", nil
	}
	return "released", err
}

func callExtend(t *testing.T, c *Client) (string, error) {
	lease, err := c.Mutex("job").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = lease.Extend(t.Context(), time.Hour)
	_ = lease.Unlock(t.Context())
	if errors.Is(err, ErrLost) && !errors.Is(err, ErrWrongType) {
		return "lost", nil
	}
	return "extended", err
}

func callOwner(t *testing.T, c *Client) (string, error) {
	o, err := c.Owner(t.Context(), "job")
	if errors.Is(err, ErrNotHeld) {
		return "nobody", nil
	}
	return fuzzOwner(o), err
}

func callReset(t *testing.T, c *Client) (string, error) {
	was, err := c.resetOnce(t.Context(), "job")
	switch {
	case errors.Is(err, errChanged):
		return "changed", nil
	case err != nil || was == nil:
		return "nobody", err
	}
	return fuzzOwner(parseOwner("job", was.owner, was.pttl).anonymous()), nil
}

func callResetAll(t *testing.T, c *Client) (string, error) {
	reset, err := c.ResetAll(t.Context(), Filter{All: true})
	return fmt.Sprint(len(reset)), err
}

func callReleaseID(t *testing.T, c *Client) (string, error) {
	err := c.ReleaseID(t.Context(), "job", parrotID)
	if errors.Is(err, ErrNotHeld) {
		return "not held", nil
	}
	return "released", err
}

func callAdopt(t *testing.T, c *Client) (string, error) {
	lease, err := c.Mutex("job").Adopt(t.Context(), parrotID)
	if err != nil {
		return "", err
	}
	_ = lease.Unlock(t.Context())
	return fmt.Sprint("token ", lease.Fence()), nil
}

func callDetach(t *testing.T, c *Client) (string, error) {
	lease, err := c.Mutex("job").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = lease.Detach(t.Context())
	if errors.Is(err, ErrNotHeld) && !errors.Is(err, ErrWrongType) {
		return "lost", nil
	}
	return "extended", err
}

// callList checks what is told of who waits: the fuzzer knows only the name job.
func callList(t *testing.T, c *Client) (string, error) {
	for info, err := range c.List(t.Context(), Filter{}) {
		if err != nil {
			return "", err
		}
		for _, w := range info.Waiters {
			if w.Count < 1 || w.Label == "" || w.Client == "" {
				t.Errorf("%q: waiters %+v", info.Owner.Name, w)
			}
		}
		if info.Owner.ID != "" {
			t.Errorf("%+v has its ID", info.Owner)
		}
	}
	return "", nil
}

func callCheck(t *testing.T, c *Client) (string, error) {
	findings, err := c.Check(t.Context())
	for _, f := range findings {
		if f.Subject == "" {
			t.Errorf("a finding about nothing: %#v", f)
		}
	}
	return "", err
}

// fuzzOwner is what is compared of an owner.
func fuzzOwner(o Owner) string {
	return fmt.Sprint(o.Label, o.Since.UnixMilli(), o.Kept, o.TTL)
}

// fuzzTaken is the owner of {value, pttl}.
func fuzzTaken(reply any) (told string, ok bool) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return "", false
	}
	value, ok := parts[0].([]byte)
	pttl, ok2 := parsePTTL(parts[1])
	return fuzzOwner(parseOwner("job", string(value), pttl)), ok && ok2
}

var fuzzToken = regexp.MustCompile(`^[0-9]{1,16}$`)

func meansAcquired(reply any) (string, bool) {
	if token, ok := reply.([]byte); ok && fuzzToken.Match(token) {
		n := 0
		for _, digit := range token {
			n = 10*n + int(digit-'0')
		}
		return fmt.Sprint("token ", n), true
	}
	owner, ok := fuzzTaken(reply)
	return "held " + owner, ok
}

func meansToken(reply any) (string, bool) {
	told, ok := meansAcquired(reply)
	return told, ok && strings.HasPrefix(told, "token")
}

func meansReleased(reply any) (string, bool) {
	word, _ := reply.([]byte)
	if string(word) == "released" {
		return "released", true
	}
	return "not held", string(word) == "not held" || string(word) == "handed on"
}

func meansExtended(reply any) (string, bool) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return "", false
	}
	state, _ := parts[0].([]byte)
	owner, ok := parts[1].([]byte)
	pttl, ok2 := parts[2].(int64)
	nobody := len(owner) == 0
	switch string(state) {
	case "ours", "bare": // without expiry, of a lease that has one: set right
		return "extended", ok && ok2 && nobody && pttl >= -1
	case "other":
		return "lost", ok && ok2 && pttl >= -1
	case "free":
		return "lost", ok && ok2 && nobody && pttl == -2
	}
	return "", false
}

func meansOwner(reply any) (string, bool) {
	if parts, ok := reply.([]any); ok && len(parts) == 0 {
		return "nobody", true
	}
	return fuzzTaken(reply)
}

func meansReset(reply any) (string, bool) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return "", false
	}
	state, _ := parts[0].([]byte)
	pttl, _ := parts[2].(int64)
	owner, ok := fuzzTaken(parts[1:])
	switch string(state) {
	case "reset":
		return owner, ok && pttl >= -1
	case "other":
		return "changed", ok && pttl >= -1
	case "free":
		value, _ := parts[1].([]byte)
		return "nobody", ok && len(value) == 0 && pttl == -2
	}
	return "", false
}

func meansScanned(reply any) (string, bool) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return "", false
	}
	next, ok := fuzzText(parts[0])
	keys, ok2 := parts[1].([]any)
	for _, key := range keys {
		_, is := fuzzText(key)
		ok = ok && (is || key == nil)
	}
	n := len(keys)
	if next != "0" {
		n++ // of the next page
	}
	return fmt.Sprint(n), ok && ok2
}

func meansJudged(reply any) (string, bool) {
	if err, ok := reply.(redis.Error); ok { // it became something else meanwhile
		return "0", redisconn.HasCode(err, "WRONGTYPE")
	}
	told, ok := meansOwner(reply)
	if told == "nobody" {
		return "0", ok
	}
	return "1", ok
}

func meansJudgedAndReleased(reply any) (string, bool) {
	if told, ok := meansReleased(reply); told == "released" {
		return "1", ok
	}
	_, ok := meansReleased(reply)
	return "0", ok
}

// check has the conversation with this reply. A reply that is not given must make an error: never a
// success, nor an answer of the kind that somebody else, or nobody, holds the lock.
func (v conversation) check(t *testing.T, reply any) {
	t.Helper()
	told, err := v.call(t, fuzzClient(t, v.odd, reply))
	if v.means == nil || fuzzRepeated(reply) {
		return
	}
	want, good := v.means(reply)
	switch {
	case !good && err == nil:
		t.Errorf("%s: the reply %s is taken for %s", v.odd, fuzzShow(reply), told)
	case good && err != nil:
		t.Errorf("%s: the reply %s gives %v, want %s", v.odd, fuzzShow(reply), err, want)
	case good && told != want:
		t.Errorf("%s: the reply %s is taken for %s, want %s", v.odd, fuzzShow(reply), told, want)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	for i, v := range conversations {
		t.Run(fmt.Sprint(v.odd, " ", i), func(t *testing.T) {
			t.Parallel()
			for _, data := range fuzzSeeds() {
				reply, _ := fuzzReply(data, 0)
				v.check(t, reply)
			}
		})
	}
}

// FuzzReplies checks that no reply makes a call panic, and that none is taken for what it does not say.
func FuzzReplies(f *testing.F) {
	for i := range conversations {
		f.Add(byte(i), []byte{7, 3, 3, 27, 3, 12, 1, 7})
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		reply, _ := fuzzReply(data, 0)
		conversations[int(which)%len(conversations)].check(t, reply)
	})
}

// fuzzRepeated reports whether a call is repeated after this reply, and gets the usual one then.
func fuzzRepeated(reply any) bool {
	err, ok := reply.(redis.Error)
	class := redisconn.Permanent
	if ok {
		class = redisconn.Classify(err)
	}
	return class == redisconn.NoScript || class == redisconn.Moved
}
