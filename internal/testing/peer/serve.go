package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// urlVariable is the environment variable that makes a test binary such a process: it says where
// Redis is.
const urlVariable = "HOLDFAST_FAULT_URL"

// Label is the label of the clients in processes that [Start] starts.
const Label = "victim"

// Start makes a process of this test binary, until the end of the test.
func Start(t testing.TB, url string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFaultProcess$")
	cmd.Env = append(os.Environ(), urlVariable+"="+url)
	return run(t, cmd)
}

// Serve is the inside of a process that [Start] made: it does what it is told until its input ends.
// In any other process it returns at once. It understands
//
//	lock TTL NAME ...             says locked FENCE ID, those of the first
//	wait TTL NAME                 says waiting, later acquired ID
//	watch                         says watching, later invalid TIMES HOW-MUCH-LATER IS-ErrLost
//	unlock                        says unlocked IS-ErrNotHeld IS-ErrLost ERROR
//	increment TTL NAME KEY TIMES  says incremented
func Serve(t testing.TB) {
	url := os.Getenv(urlVariable)
	if url == "" {
		return
	}
	d := &dummy{t: t, url: url}
	defer d.close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		d.obey(words[0], words[1:])
	}
}

// A dummy is what such a process has.
type dummy struct {
	t      testing.TB
	url    string
	client *lock.Client
	leases []*lock.Lease
}

func (d *dummy) close() {
	if d.client != nil {
		_ = d.client.Close()
	}
}

func (d *dummy) open(ttl string, hooks lock.Hooks) {
	length, err := time.ParseDuration(ttl)
	if err != nil {
		d.t.Fatal(err)
	}
	d.client = locks.Open(d.t, d.url, &lock.Options{Label: Label, TTL: length, Hooks: hooks})
}

func (d *dummy) obey(command string, args []string) {
	switch command {
	case "lock": // ttl, names
		d.open(args[0], lock.Hooks{})
		for _, name := range args[1:] {
			d.leases = append(d.leases, locks.Acquire(d.t, d.client.Mutex(name)))
		}
		fmt.Println("locked", d.leases[0].Fence(), d.leases[0].ID())
	case "wait": // ttl, name
		d.open(args[0], lock.Hooks{Waiting: func(lock.Event) { fmt.Println("waiting") }})
		go func() {
			if lease, err := d.client.Mutex(args[1]).Lock(context.Background()); err == nil {
				fmt.Println("acquired", lease.ID())
			}
		}()
	case "watch":
		go d.watch()
	case "unlock":
		err := d.leases[0].Unlock(context.Background())
		fmt.Println("unlocked", errors.Is(err, lock.ErrNotHeld), errors.Is(err, lock.ErrLost), err)
	case "increment": // ttl, name, key, how often
		d.open(args[0], lock.Hooks{})
		d.increment(args[1], args[2], args[3])
		fmt.Println("incremented")
	}
}

// watch looks at the lease each millisecond until it is not valid any more. It tells how often it
// was called valid after its deadline, how much later the context ended, and the cause.
func (d *dummy) watch() {
	ctx, cancel := d.leases[0].Context(context.Background())
	defer cancel()
	fmt.Println("watching")
	wrong := 0
	for range time.Tick(time.Millisecond) {
		now, deadline := time.Now(), d.leases[0].Deadline()
		if !d.leases[0].Valid() {
			break
		}
		if now.After(deadline) && deadline.Equal(d.leases[0].Deadline()) {
			wrong++
		}
	}
	seen := time.Now()
	<-ctx.Done()
	fmt.Println("invalid", wrong, time.Since(seen), errors.Is(context.Cause(ctx), lock.ErrLost))
}

// increment adds one to a number in Redis that only the lock guards.
func (d *dummy) increment(name, key, times string) {
	n, err := strconv.Atoi(times)
	if err != nil {
		d.t.Fatal(err)
	}
	conn := redistest.At(d.t, d.url).Dial(d.t)
	for range n {
		err := d.client.Do(context.Background(), name, func(context.Context) error {
			old, err := redis.Int(conn.Do("GET", key))
			if err != nil && !errors.Is(err, redis.ErrNil) {
				return err
			}
			_, err = conn.Do("SET", key, old+1)
			return err
		})
		if err != nil {
			fmt.Println("error", err)
			return
		}
	}
}
