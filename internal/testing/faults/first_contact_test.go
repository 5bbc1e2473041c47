package faults_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/lock"
)

// First contact: nobody listens. That is told at once, with the address.
func TestFaultNobodyListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	open := func() *lock.Client { return locks.Open(t, "redis://user:s3cret@"+addr+"/0", nil) }
	for name, err := range locks.AtOnce(t, open, "s3cret") {
		if !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: %v: does not say where", name, err)
		}
		if errors.Is(err, lock.ErrUnknown) {
			t.Errorf("%s: %v: is ErrUnknown", name, err)
		}
	}
}

// After first contact a server that is gone is waited for by Lock; TryLock says so.
func TestFaultServerGone(t *testing.T) {
	t.Parallel()
	s := locks.Server(t)
	c := locks.Met(t, s.URL(), nil)
	s.Kill(t)
	began := time.Now()
	_, err := c.Mutex("job").TryLock(locks.Soon(t))
	locks.Took(t, "TryLock", began, time.Now(), locks.Slack)
	if err == nil || errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = c.Mutex("job").Lock(ctx)
	locks.Is(t, "Lock", err, context.DeadlineExceeded)
	if !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("Lock: %v: does not say what it met", err)
	}
	wait := locks.Later(locks.Soon(t), c.Mutex("job"))
	s.Restart(t)
	up := time.Now()
	lease, at := locks.Got(t, wait)
	locks.Took(t, "Lock", up, at, locks.S+locks.Slack)
	locks.Unlock(t, lease)
}

// First contact: a server that takes the connection and says nothing, and a dialler that hangs.
func TestFaultDialHangs(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the kernel does
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, open := range map[string]func() *lock.Client{
		"server": func() *lock.Client { return locks.Open(t, "redis://"+listener.Addr().String(), nil) },
		"dialler": func() *lock.Client {
			c, err := lock.New(&redis.Pool{Dial: func() (redis.Conn, error) {
				<-hang
				return nil, errors.New("hung up")
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c // closed below
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open()
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err := c.Mutex("job").TryLock(ctx)
			locks.Took(t, "TryLock with a context", began, time.Now(), 200*time.Millisecond+locks.Slack)
			locks.Is(t, "TryLock", err, context.DeadlineExceeded)
			began = time.Now()
			if _, err = c.Mutex("job").TryLock(locks.Soon(t)); err == nil || errors.Is(err, lock.ErrHeld) {
				t.Errorf("TryLock: %v", err)
			}
			t.Logf("TryLock: %v after %v", err, locks.Took(t, "TryLock", began, time.Now(), 2*locks.R+locks.Slack))
			began = time.Now()
			_ = c.Close()
			t.Logf("Close: %v", locks.Took(t, "Close", began, time.Now(), locks.R+locks.Slack))
		})
	}
}
