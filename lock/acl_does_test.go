package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// An aclCase is a user with some rights, and a lock to try them on. The server's default user, who
// may do everything, is the other side.
type aclCase struct {
	testing.TB
	server *redistest.Server
	user   string
	url    string
	name   string // of the lock
}

// newACLCase makes a user with these rights.
func newACLCase(t testing.TB, s *redistest.Server, rules []string) *aclCase {
	t.Helper()
	s.Do(t, "FLUSHALL")
	name := redistest.Name(t)
	a := &aclCase{TB: t, server: s, user: "user-" + name, name: name}
	args := []any{"SETUSER", a.user, "reset", "on", ">s3cret"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	s.Do(t, "ACL", args...)
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(a.user, "s3cret")
	a.url = u.String()
	return a
}

// client returns a client of the user's.
func (a *aclCase) client(o *lock.Options) *lock.Client {
	a.Helper()
	c, err := lock.Open(a.url, o)
	if err != nil {
		a.Fatal(err)
	}
	return c
}

// held has the default user hold the lock; release gives it up.
func (a *aclCase) held() (release func()) {
	a.Helper()
	c := open(a, a.server, nil)
	lease := acquire(a, c.Mutex(a.name))
	return func() { unlock(a, lease) }
}

// denials returns what Redis denied the user, by its own log: commands, and keys.
func (a *aclCase) denials() []string {
	a.Helper()
	entries, err := redis.Values(a.server.Do(a, "ACL", "LOG", 100), nil)
	if err != nil {
		a.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		fields, _ := redis.Values(entry, nil)
		m := map[string]string{}
		for i := 0; i+1 < len(fields); i += 2 {
			key, _ := redis.String(fields[i], nil)
			m[key], _ = redis.String(fields[i+1], nil)
		}
		if m["username"] == a.user {
			all = append(all, m["object"])
		}
	}
	return all
}

// refused reports whether Redis denied the user something that matters.
func (a *aclCase) refused() bool {
	a.Helper()
	return slices.ContainsFunc(a.denials(), func(denied string) bool { return !aclOptional(denied) })
}

// aclOptional reports whether a client can do without what was denied, and nothing else changes.
func aclOptional(denied string) bool { return strings.HasPrefix(denied, "client") || denied == "info" }

// The things that a client does. Each returns nil if it works.

func aclTakes(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	lease, err := c.Mutex(a.name).TryLock(soon(a))
	if err == nil {
		err = lease.Unlock(soon(a))
	}
	return err
}

func aclAsks(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	release := a.held()
	defer release()
	_, err := c.Owner(soon(a), a.name)
	return err
}

func aclResets(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	a.server.Do(a, "SET", "lock:"+a.name, "somebody")
	_, held, err := c.Reset(soon(a), a.name)
	if err == nil && !held {
		err = errors.New("nothing to reset")
	}
	return err
}

func aclIsRefused(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	release := a.held()
	defer release()
	_, err := c.Mutex(a.name).TryLock(soon(a))
	if errors.Is(err, lock.ErrHeld) {
		return nil
	}
	return fmt.Errorf("a lock that is held: %w", err)
}

func aclExtends(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	lease, err := c.Mutex(a.name).TryLock(soon(a))
	if err == nil {
		err = errors.Join(lease.Extend(soon(a), time.Hour), lease.Unlock(soon(a)))
	}
	return err
}

func aclRenews(a *aclCase) error {
	renewed := make(chan error, 1000)
	c := a.client(&lock.Options{TTL: 2 * time.Second, Hooks: lock.Hooks{
		Renewed:       func(lock.Event) { renewed <- nil },
		RenewalFailed: func(e lock.Event) { renewed <- e.Err },
		Lost:          func(e lock.Event) { renewed <- e.Err },
	}})
	defer c.Close()
	lease, err := c.Mutex(a.name).TryLock(soon(a))
	if err != nil {
		return err
	}
	return errors.Join(await(a, "a renewal", renewed), lease.Unlock(soon(a)))
}

// aclHearsOfLoss unlocks what somebody took away: that is told from an error.
func aclHearsOfLoss(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	lease, err := c.Mutex(a.name).TryLock(soon(a))
	if err != nil {
		return err
	}
	a.server.Do(a, "DEL", "lock:"+a.name)
	if err = lease.Unlock(soon(a)); errors.Is(err, lock.ErrNotHeld) {
		return nil
	}
	return fmt.Errorf("a lease that was lost: %w", err)
}

// aclSignals: a release leaves a signal for whoever waits.
func aclSignals(a *aclCase) error {
	if err := aclTakes(a); err != nil {
		return err
	}
	if a.server.Do(a, "LLEN", "lock-signal:"+a.name) != int64(1) {
		return errors.New("a release leaves no signal")
	}
	return nil
}

// aclHandsOn detaches a lease, adopts it and releases it from elsewhere.
func aclHandsOn(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	m := c.Mutex(a.name)
	lease, err := m.TryLock(soon(a))
	if err != nil {
		return err
	}
	id, err := lease.Detach(soon(a))
	if err != nil {
		return err
	}
	if lease, err = m.Adopt(soon(a), id); err != nil {
		return err
	}
	if id, err = lease.Detach(soon(a)); err != nil {
		return err
	}
	return c.ReleaseID(soon(a), a.name, id)
}

// aclHoldsAtLeast releases early, and the lock stays.
func aclHoldsAtLeast(a *aclCase) error {
	c := a.client(&lock.Options{HoldAtLeast: time.Minute})
	defer c.Close()
	lease, err := c.Mutex(a.name).TryLock(soon(a))
	if err == nil {
		err = lease.Unlock(soon(a))
	}
	if left := a.server.Do(a, "PTTL", "lock:"+a.name); err == nil && left.(int64) < 1000 {
		err = fmt.Errorf("it is kept for %v ms", left)
	}
	return err
}

func aclNoExpiry(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	m := c.MutexWith(a.name, &lock.MutexOptions{TTL: lock.NoExpiry})
	lease, err := m.TryLock(soon(a))
	if err != nil {
		return err
	}
	left := a.server.Do(a, "PTTL", "lock:"+a.name)
	if err = lease.Unlock(soon(a)); err == nil && left != int64(-1) {
		err = fmt.Errorf("it expires in %v ms", left)
	}
	return err
}

func aclResetsAll(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	a.server.Do(a, "SET", "lock:"+a.name, "somebody")
	reset, err := c.ResetAll(soon(a), lock.Filter{All: true, Name: a.name})
	if err == nil && len(reset) != 1 {
		err = fmt.Errorf("reset %v", reset)
	}
	return err
}

func aclLists(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	release := a.held()
	defer release()
	// A waiter, as its client would have told; the user's right to do so is not the point.
	key := "lock-waiting:me/" + a.name
	a.server.Do(a, "HSET", key, a.name, 2)
	defer a.server.Do(a, "DEL", key)
	for o, err := range c.List(soon(a), lock.Filter{}) {
		if err != nil {
			return err
		}
		if o.Name == a.name && len(o.Waiters) == 1 && o.Waiters[0].Count == 2 {
			return nil
		}
	}
	return errors.New("not listed")
}

func aclChecks(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	findings, err := c.Check(soon(a))
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Level == lock.LevelUnknown {
			err = errors.Join(err, errors.New(f.String()))
		}
	}
	return err
}

func aclOtherDatabase(a *aclCase) error {
	u, err := url.Parse(a.url)
	if err != nil {
		return err
	}
	if u.Scheme == "unix" {
		u.RawQuery = "db=1"
	} else {
		u.Path = "/1"
	}
	c, err := lock.Open(u.String(), nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Do(soon(a), a.name, func(context.Context) error { return nil })
}

func aclIsNamed(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	if _, err := c.Owner(soon(a), a.name); !errors.Is(err, lock.ErrNotHeld) {
		return err
	}
	if a.server.Clients(a, "holdfast:") == 0 {
		return errors.New("the connection has no name")
	}
	return nil
}

// aclBasics are what the minimal rules are for.
var aclBasics = map[string]func(*aclCase) error{
	"take":               aclTakes,
	"ask who holds":      aclAsks,
	"reset":              aclResets,
	"be refused":         aclIsRefused,
	"extend":             aclExtends,
	"renew":              aclRenews,
	"hear of a loss":     aclHearsOfLoss,
	"hand on":            aclHandsOn,
	"hold at least":      aclHoldsAtLeast,
	"leave a signal":     aclSignals,
	"wait":               aclWaits,
	"show who waits":     aclShowsWaiter,
	"give a signal back": aclGivesBack,
}

// aclMore are what further rules are for, as the document calls it.
var aclMore = map[string]func(*aclCase) error{
	"NoExpiry":                 aclNoExpiry,
	"ResetAll":                 aclResetsAll,
	"List":                     aclLists,
	"Check":                    aclChecks,
	"a database other than 0":  aclOtherDatabase,
	"names in CLIENT LIST":     aclIsNamed,
	"ending what was given up": aclEndsGhosts,
	"package pool":             aclPools,
	"package register":         aclRegisters,
}
