package faults_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// A logText is a log at the level info.
type logText struct {
	mu   sync.Mutex // guards the field below
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// retrying returns options that log at the level info and tell of retries.
func retrying() (*lock.Options, *logText, <-chan lock.Event) {
	log, told := new(logText), make(chan lock.Event, 100)
	h := lock.LogHooks(slog.New(slog.NewTextHandler(log, nil)))
	own := lock.Hooks{Retrying: func(e lock.Event) { told <- e }}
	return &lock.Options{Hooks: lock.JoinHooks(h, own)}, log, told
}

// becomeReplica makes the server a replica of one that has nobody's locks.
func becomeReplica(t *testing.T, s *redistest.Server) {
	master := redistest.StartTCP(t, "repl-diskless-sync-delay 0")
	host, port, _ := strings.Cut(master.Addr(), ":")
	s.Do(t, "REPLICAOF", host, port)
	redistest.Until(t, "the replica is in sync", func() bool {
		info, err := redis.String(s.Do(t, "INFO", "replication"), nil)
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
}

// becomeMoved has the slot of "{job}" served by another node of a cluster.
func becomeMoved(t *testing.T, s *redistest.Server) {
	other := redistest.StartTCP(t, "cluster-enabled yes")
	host, port, _ := strings.Cut(other.Addr(), ":")
	s.Do(t, "CLUSTER", "MEET", host, port)
	id := other.Do(t, "CLUSTER", "MYID")
	redistest.Until(t, "the nodes know each other", func() bool {
		nodes, err := redis.String(s.Do(t, "CLUSTER", "NODES"), nil)
		return err == nil && strings.Contains(nodes, string(id.([]byte)))
	})
	s.Do(t, "FLUSHALL") // it gives no slot away that has keys
	s.Do(t, "CLUSTER", "SETSLOT", s.Do(t, "CLUSTER", "KEYSLOT", "job"), "NODE", id)
}

// wrongServers are the servers that are the wrong ones, and how they become it.
var wrongServers = []struct {
	name, code string
	conf       []string
	become     func(*testing.T, *redistest.Server)
}{
	{"replica", "READONLY", nil, becomeReplica},
	{"cluster node", "MOVED", []string{"cluster-enabled yes"}, becomeMoved},
}

func startWrong(t *testing.T, conf []string) *redistest.Server {
	s := redistest.StartTCP(t, conf...)
	if len(conf) > 0 {
		s.Do(t, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
		redistest.Until(t, "the cluster serves", func() bool {
			info, err := redis.String(s.Do(t, "CLUSTER", "INFO"), nil)
			return err == nil && strings.Contains(info, "cluster_state:ok")
		})
	}
	return locks.Prepared(t, s)
}

// Row 46: at the first contact the server is the wrong one. That is told at once, with the address.
func TestFaultWrongServer(t *testing.T) {
	t.Parallel()
	for _, wrong := range wrongServers {
		t.Run(wrong.name, func(t *testing.T) {
			t.Parallel()
			s := startWrong(t, wrong.conf)
			wrong.become(t, s)
			for name, call := range locks.Calls {
				c := locks.Open(t, s.URL(), nil)
				// That it was reached, and by what, says nothing of where it may write.
				if _, err := c.Locked(locks.Soon(t), "{other}"); err != nil && wrong.code != "MOVED" {
					t.Errorf("%s: Locked: %v", name, err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				began := time.Now()
				_, err := call(ctx, c.Mutex("{job}"))
				t.Logf("%s says %v after %v", name, err, locks.Took(t, name, began, time.Now(), locks.Slack))
				locks.Says(t, name, err, wrong.code)
				if err == nil || !strings.Contains(err.Error(), "redis at "+s.Addr()) {
					t.Errorf("%s: %v: does not say where", name, err)
				}
				if errors.Is(err, lock.ErrHeld) || errors.Is(err, lock.ErrUnknown) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Row 46: later, after a failover, that passes. The hook and the log say that it is retried.
func TestFaultWrongServerLater(t *testing.T) {
	t.Parallel()
	for _, wrong := range wrongServers {
		t.Run(wrong.name, func(t *testing.T) {
			t.Parallel()
			s := startWrong(t, wrong.conf)
			o, log, told := retrying()
			c := locks.Open(t, s.URL(), o)
			locks.Unlock(t, locks.Acquire(t, c.Mutex("{job}")))
			wrong.become(t, s)
			ctx, cancel := context.WithCancel(context.Background())
			wait := locks.Later(ctx, c.Mutex("{job}"))
			toldOfRetries(t, told, log, "{job}", wrong.code)
			cancel()
			r := locks.Await(t, "Lock", wait)
			locks.Is(t, "Lock", r.Err, context.Canceled)
			locks.Says(t, "Lock", r.Err, wrong.code)
		})
	}
}

// toldOfRetries waits for two retries of a lock to be told, and looks for them in the log.
func toldOfRetries(t *testing.T, told <-chan lock.Event, log *logText, name, code string) {
	t.Helper()
	first, second := locks.Await(t, "Retrying", told), locks.Await(t, "Retrying again", told)
	if first.Name != name || first.Times != 1 || first.Waited > locks.Slack {
		t.Errorf("told %+v", first)
	}
	locks.Says(t, "Retrying", first.Err, code)
	if second.Times < 3 || second.Waited < time.Second || second.Waited > time.Second+locks.Slack {
		t.Errorf("told then: %+v", second)
	}
	want := `level=WARN msg="lock retried" lock=` + name
	if text := log.String(); strings.Count(text, want) != 2 || strings.Count(text, code) < 2 {
		t.Errorf("logged\n%s\nwant two of %s with %s", text, want, code)
	}
}

// Row 46: a Redis without memory is the right one. Lock waits for the end of that from the first contact
// on, and says so.
func TestFaultNoMemoryAtFirst(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	s.Do(t, "CONFIG", "SET", "maxmemory", 1)
	o, log, told := retrying()
	wait := locks.Later(locks.Soon(t), locks.Open(t, s.URL(), o).Mutex("job"))
	toldOfRetries(t, told, log, "job", "OOM")
	s.Do(t, "CONFIG", "SET", "maxmemory", 0)
	lease, _ := locks.Got(t, wait)
	locks.Unlock(t, lease)
}
