package lock_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/redisconn"
	"github.com/holdfast-go/holdfast/internal/testing/parrot"
	"github.com/holdfast-go/holdfast/lock"
)

// A conversation is a call, what the odd reply in it means to it, and what it told.
type conversation struct {
	odd   string
	call  func(t *testing.T, c *lock.Client) (told string, err error)
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

func callTryLock(t *testing.T, c *lock.Client) (string, error) {
	lease, err := c.Mutex("job").TryLock(t.Context())
	var held *lock.HeldError
	switch {
	case errors.As(err, &held):
		return fmt.Sprint("held ", shown(held.Owner)), nil
	case err != nil:
		return "", err
	}
	_ = lease.Unlock(t.Context())
	return fmt.Sprint("token ", lease.Fence()), nil
}

func callUnlock(t *testing.T, c *lock.Client) (string, error) {
	lease, err := c.Mutex("job").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = lease.Unlock(t.Context())
	if errors.Is(err, lock.ErrNotHeld) && !errors.Is(err, lock.ErrWrongType) {
		return "not held", nil
	}
	return "released", err
}

func callExtend(t *testing.T, c *lock.Client) (string, error) {
	lease, err := c.Mutex("job").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = lease.Extend(t.Context(), time.Hour)
	_ = lease.Unlock(t.Context())
	if errors.Is(err, lock.ErrLost) && !errors.Is(err, lock.ErrWrongType) {
		return "lost", nil
	}
	return "extended", err
}

func callOwner(t *testing.T, c *lock.Client) (string, error) {
	o, err := c.Owner(t.Context(), "job")
	if errors.Is(err, lock.ErrNotHeld) {
		return "nobody", nil
	}
	return shown(o), err
}

func callReset(t *testing.T, c *lock.Client) (string, error) {
	was, held, err := c.Reset(t.Context(), "job")
	if err != nil || !held {
		return "nobody", err
	}
	return shown(was), nil
}

func callResetAll(t *testing.T, c *lock.Client) (string, error) {
	reset, err := c.ResetAll(t.Context(), lock.Filter{All: true})
	return fmt.Sprint(len(reset)), err
}

func callReleaseID(t *testing.T, c *lock.Client) (string, error) {
	err := c.ReleaseID(t.Context(), "job", parrot.ID)
	if errors.Is(err, lock.ErrNotHeld) {
		return "not held", nil
	}
	return "released", err
}

func callAdopt(t *testing.T, c *lock.Client) (string, error) {
	lease, err := c.Mutex("job").Adopt(t.Context(), parrot.ID)
	if err != nil {
		return "", err
	}
	_ = lease.Unlock(t.Context())
	return fmt.Sprint("token ", lease.Fence()), nil
}

func callDetach(t *testing.T, c *lock.Client) (string, error) {
	lease, err := c.Mutex("job").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = lease.Detach(t.Context())
	if errors.Is(err, lock.ErrNotHeld) && !errors.Is(err, lock.ErrWrongType) {
		return "lost", nil
	}
	return "extended", err
}

// callList checks what is told of who waits: the fuzzer knows only the name job.
func callList(t *testing.T, c *lock.Client) (string, error) {
	for o, err := range c.List(t.Context(), lock.Filter{}) {
		if err != nil {
			return "", err
		}
		for _, w := range o.Waiters {
			if w.Count < 1 || w.Label == "" || w.Client == "" {
				t.Errorf("%q: waiters %+v", o.Name, w)
			}
		}
		if o.ID != "" {
			t.Errorf("%+v has its ID", o)
		}
	}
	return "", nil
}

func callCheck(t *testing.T, c *lock.Client) (string, error) {
	findings, err := c.Check(t.Context())
	for _, f := range findings {
		if f.Subject == "" {
			t.Errorf("a finding about nothing: %#v", f)
		}
	}
	return "", err
}

// fuzzOwner is what is compared of an owner.
func shown(o lock.Owner) string {
	return fmt.Sprint(o.Label, o.Since.UnixMilli(), o.Kept, o.TTL)
}

// fuzzTaken is the owner of {value, pttl}.
func taken(reply any) (told string, ok bool) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return "", false
	}
	value, ok := parts[0].([]byte)
	pttl, ok2 := parts[1].(int64)
	id, ttl := owner.Parse(string(value)), lock.NoExpiry
	if pttl >= 0 {
		ttl = time.Duration(min(pttl, longest.Milliseconds())) * time.Millisecond
	}
	return shown(lock.Owner{Label: id.Label, Since: id.Since, Kept: id.Kept, TTL: ttl}), ok && ok2
}

// longest is what is believed of a TTL.
const longest = 100 * 365 * 24 * time.Hour

var aToken = regexp.MustCompile(`^[0-9]{1,16}$`)

func meansAcquired(reply any) (string, bool) {
	if token, ok := reply.([]byte); ok && aToken.Match(token) {
		n := 0
		for _, digit := range token {
			n = 10*n + int(digit-'0')
		}
		return fmt.Sprint("token ", n), true
	}
	owner, ok := taken(reply)
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
	return taken(reply)
}

func meansReset(reply any) (string, bool) {
	parts, _ := reply.([]any)
	if len(parts) != 3 {
		return "", false
	}
	state, _ := parts[0].([]byte)
	pttl, _ := parts[2].(int64)
	owner, ok := taken(parts[1:])
	switch string(state) {
	case "reset":
		return owner, ok && pttl >= -1
	case "other": // it changed hands: asked again, and then by the usual reply
		again, _ := taken([]any{[]byte(parrot.ID), int64(2000)})
		return again, ok && pttl >= -1
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
	next, ok := textOf(parts[0])
	keys, ok2 := parts[1].([]any)
	for _, key := range keys {
		_, is := textOf(key)
		ok = ok && is
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
	told, err := v.call(t, parroting(t, v.odd, reply))
	if v.means == nil || repeated(reply) {
		return
	}
	want, good := v.means(reply)
	switch {
	case !good && err == nil:
		t.Errorf("%s: the reply %s is taken for %s", v.odd, parrot.Show(reply), told)
	case good && err != nil:
		t.Errorf("%s: the reply %s gives %v, want %s", v.odd, parrot.Show(reply), err, want)
	case good && told != want:
		t.Errorf("%s: the reply %s is taken for %s, want %s", v.odd, parrot.Show(reply), told, want)
	}
}

// parroting returns a client whose Redis gives an odd reply.
func parroting(t *testing.T, odd string, reply any) *lock.Client {
	t.Helper()
	c, err := lock.New(&redis.Pool{DialContext: parrot.Dial(odd, reply)},
		&lock.Options{TTL: time.Minute, Margin: time.Millisecond, NoRenewal: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestReplies(t *testing.T) {
	t.Parallel()
	for i, v := range conversations {
		t.Run(fmt.Sprint(v.odd, " ", i), func(t *testing.T) {
			t.Parallel()
			// In a bubble the pauses before dials, after a connection was given up, take no time.
			synctest.Test(t, func(t *testing.T) {
				for _, data := range parrot.Seeds() {
					v.check(t, parrot.Make(data))
				}
			})
		})
	}
}

// FuzzReplies checks that no reply makes a call panic, and that none is taken for what it does not say.
func FuzzReplies(f *testing.F) {
	for i := range conversations {
		f.Add(byte(i), []byte{7, 3, 3, 27, 3, 12, 1, 7})
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		conversations[int(which)%len(conversations)].check(t, parrot.Make(data))
	})
}

// repeated reports whether a call is repeated after this reply, and gets the usual one then.
func repeated(reply any) bool {
	err, ok := reply.(redis.Error)
	class := redisconn.Permanent
	if ok {
		class = redisconn.Classify(err)
	}
	return class == redisconn.NoScript || class == redisconn.Moved
}

func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case []byte:
		return string(v), true
	case string:
		return v, true
	}
	return "", false
}
