package lock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// faultURL is the environment variable that makes this test binary a process to be stopped and
// killed: it says where Redis is.
const faultURL = "HOLDFAST_FAULT_URL"

// faultVictim is the label of such processes.
const faultVictim = "victim"

// A faultProcess is another process that uses locks, and does what it is told line by line.
type faultProcess struct {
	cmd   *exec.Cmd
	in    io.Writer
	lines chan string   // what it says
	done  chan struct{} // closed when it has ended
}

// faultStart runs such a process until the end of the test.
func faultStart(t testing.TB, url string) *faultProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFaultProcess$")
	cmd.Env = append(os.Environ(), faultURL+"="+url)
	return faultRun(t, cmd)
}

func faultRun(t testing.TB, cmd *exec.Cmd) *faultProcess {
	t.Helper()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &faultProcess{cmd, in, make(chan string, 1000), make(chan struct{})}
	go func() { // ends with the process
		defer close(p.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

// tell gives the process a line to obey.
func (p *faultProcess) tell(t testing.TB, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		t.Fatal(err)
	}
}

// says waits until the process says something that begins with this word, and returns what follows.
func (p *faultProcess) says(t testing.TB, word string) string {
	t.Helper()
	line := await(t, "the process says "+word, p.lines)
	rest, ok := strings.CutPrefix(line, word)
	if !ok {
		t.Fatalf("the process says %q, want %s", line, word)
	}
	return strings.TrimSpace(rest)
}

// kill ends the process as SIGKILL does, and returns when it is gone.
func (p *faultProcess) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// TestFaultProcess is not a test but the process that others make of this binary.
func TestFaultProcess(t *testing.T) {
	url := os.Getenv(faultURL)
	if url == "" {
		return
	}
	d := &faultDummy{t: t, url: url}
	defer d.close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		d.obey(words[0], words[1:])
	}
}

// A faultDummy is the inside of such a process.
type faultDummy struct {
	t      *testing.T
	url    string
	client *lock.Client
	leases []*lock.Lease
}

func (d *faultDummy) close() {
	if d.client != nil {
		_ = d.client.Close()
	}
}

func (d *faultDummy) open(ttl string, hooks lock.Hooks) {
	length, err := time.ParseDuration(ttl)
	if err != nil {
		d.t.Fatal(err)
	}
	d.client = faultOpen(d.t, d.url, &lock.Options{Label: faultVictim, TTL: length, Hooks: hooks})
}

func (d *faultDummy) obey(command string, args []string) {
	switch command {
	case "lock": // ttl, names
		d.open(args[0], lock.Hooks{})
		for _, name := range args[1:] {
			d.leases = append(d.leases, acquire(d.t, d.client.Mutex(name)))
		}
		fmt.Println("locked", d.leases[0].Fence(), d.leases[0].ID())
	case "wait": // ttl, name
		d.open(args[0], lock.Hooks{Waiting: func(lock.WaitingInfo) { fmt.Println("waiting") }})
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
func (d *faultDummy) watch() {
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
func (d *faultDummy) increment(name, key, times string) {
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

// faultInfo returns a number of INFO's.
func faultInfo(t testing.TB, info, field string) int {
	t.Helper()
	_, rest, ok := strings.Cut(info, field+":")
	digits, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		t.Fatalf("INFO has no %s", field)
	}
	return n
}
