//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// ttl is long enough for machines that stall for half a second.
const ttl = "1500ms"

func TestDemoOnPrivateServer(t *testing.T) {
	t.Parallel()
	needBinary(t)
	d := startDemo(t)
	d.finish(0)
	d.shows("Redis: a private ")
	d.showsAll()
	d.leftNothing()
}

func TestDemoAtURL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Do(t, "SET", "lock:report", "somebody else's")
	d := startDemo(t, "REDIS_URL="+s.URL(), "PATH=")
	d.finish(0)
	d.shows("from REDIS_URL")
	d.showsAll()
	d.leftNothing()
	if n := s.Do(t, "DBSIZE"); n != int64(1) {
		t.Errorf("%v keys are left, want the one that is not the demo's: %s", n, s.Do(t, "KEYS", "*"))
	}
}

func TestDemoOnEmbeddedServer(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "PATH=")
	d.finish(0)
	d.shows("Redis: an embedded one")
	d.showsAll()
	d.leftNothing()
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	needBinary(t)
	// At the start; while a lease is held; with two dead workers and one that was started again.
	for _, line := range []string{"Redis:", "renews its lease", "the importer again"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			d := startDemo(t)
			d.readUntil(line)
			if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			d.finish(130)
			want := "holdfast: stopped by a signal: interrupt; " +
				"everything that the demo started has ended\n"
			if got := d.stderr.String(); got != want {
				t.Errorf("stderr %q, want %q", got, want)
			}
			d.leftNothing()
		})
	}
}

func TestDemoInterruptedAtURL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	d := startDemo(t, "REDIS_URL="+s.URL())
	d.readUntil("renews its lease")
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	d.finish(130)
	d.leftNothing()
	if n := s.Do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys are left: %s", n, s.Do(t, "KEYS", "*"))
	}
}

// A demo that is killed can tidy nothing up, but its processes end with it.
func TestDemoKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	d := startDemo(t, "REDIS_URL="+s.URL())
	d.readUntil("renews its lease")
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.finish(-1)
	redistest.Until(t, "the workers have ended", func() bool { return len(d.running()) == 0 })
}

// A reader that goes away, as head does, is a reason to stop, not to leave things behind.
func TestDemoNobodyReads(t *testing.T) {
	t.Parallel()
	needBinary(t)
	d := startDemo(t)
	d.readUntil("waits for")
	d.stdout.Close()
	d.finish(128 + int(syscall.SIGPIPE))
	d.leftNothing()
}

func TestDemoServerUnreachable(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "REDIS_URL=redis://:s3cret@127.0.0.1:1/0")
	d.finish(1)
	got := d.stderr.String()
	if !strings.HasPrefix(got, "holdfast: the server that REDIS_URL names cannot be used: ") ||
		strings.Contains(got, "s3cret") {
		t.Errorf("stderr %q", got)
	}
}

// A demoRun is the demo as a real process. What it leaves can be found: all its processes have its
// own TMPDIR in their environment.
type demoRun struct {
	t      *testing.T
	dir    string
	cmd    *osexec.Cmd
	stdout *os.File
	lines  *bufio.Scanner
	out    strings.Builder // what was read of stdout
	stderr bytes.Buffer
}

func startDemo(t *testing.T, env ...string) *demoRun {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "holdfast-demo-test-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := &demoRun{t: t, dir: dir, stdout: r, lines: bufio.NewScanner(r)}
	d.cmd = osexec.Command(os.Args[0], "demo", "-workers", "3", "-ttl", ttl)
	d.cmd.Env = append(os.Environ(), program+"=1", "REDIS_URL=", "TMPDIR="+dir)
	d.cmd.Env = append(d.cmd.Env, env...)
	d.cmd.Stdout, d.cmd.Stderr = w, &d.stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		r.Close()
		_ = d.cmd.Process.Kill() // has ended, if all went well
		_ = os.RemoveAll(dir)
	})
	return d
}

// readUntil reads the output up to a line that has this text.
func (d *demoRun) readUntil(text string) {
	d.t.Helper()
	for d.lines.Scan() {
		fmt.Fprintln(&d.out, d.lines.Text())
		if strings.Contains(d.lines.Text(), text) {
			return
		}
	}
	d.t.Fatalf("the demo ended without telling %q; stdout:\n%s\nstderr:\n%s",
		text, &d.out, &d.stderr)
}

// finish reads the rest of the output and checks the exit code.
func (d *demoRun) finish(code int) {
	d.t.Helper()
	for d.lines.Scan() {
		fmt.Fprintln(&d.out, d.lines.Text())
	}
	_ = d.cmd.Wait() // the code tells
	if got := d.cmd.ProcessState.ExitCode(); got != code {
		d.t.Fatalf("exit code %d, want %d; stdout:\n%s\nstderr:\n%s", got, code, &d.out, &d.stderr)
	}
}

func (d *demoRun) shows(text string) {
	d.t.Helper()
	if !strings.Contains(d.out.String(), text) {
		d.t.Errorf("the demo did not tell %q:\n%s", text, &d.out)
	}
}

// showsAll checks that everything was shown, in its order.
func (d *demoRun) showsAll() {
	d.t.Helper()
	host, _ := os.Hostname()
	all := regexp.MustCompile(`(?s)` + strings.Join([]string{
		`starts worker 1 \(pid \d+\), worker 2 \(pid \d+\), worker 3 \(pid \d+\)`,
		`worker 1  holds "report" with token \d{16}, which was free`,
		`waits for worker 1, the holder since \d\.\d{3} s`,
		`asks Redis, as anybody can, who holds it:`,
		`label \S+:\d+, host ` + regexp.QuoteMeta(host) + `, since \d\d:\d\d:\d\d\.\d{3}, [\d.]+ s of`,
		`worker 1  renews its lease \(2\)`,
		`is done after [\d.]+ s and \d renewals, and releases`,
		`holds "report" with token \d{16}, [\d.]+ ms after worker 1's release`,
		`kills worker 2 \(pid \d+\) with SIGKILL`,
		`ms after worker 2's key expired`,
		`label importer, since \S+, [\d.]+ s of its TTL left`,
		`ms after the reset began`,
		`acquired +\d+ times by 4 processes: never two at once`,
		`renewals +\d`,
		`handovers +\d+, from release to next holder p50 [\d.]+ ms`,
		`takeover +-?[\d.]+ ms after`,
		`cleaned up +1 lock of an earlier incarnation`,
		`left behind +nothing: 5 processes ended`,
	}, `.*`))
	if !all.MatchString(d.out.String()) {
		d.t.Errorf("the demo did not tell everything:\n%s", &d.out)
	}
	if d.stderr.Len() > 0 {
		d.t.Errorf("stderr %q, want nothing", &d.stderr)
	}
}

// leftNothing checks that there is no process and no file.
func (d *demoRun) leftNothing() {
	d.t.Helper()
	if pids := d.running(); len(pids) > 0 {
		d.t.Errorf("processes %v are left", pids)
	}
	files, err := os.ReadDir(d.dir)
	if err != nil || len(files) > 0 {
		d.t.Errorf("files %v are left (%v)", files, err)
	}
}

var pidPattern = regexp.MustCompile(`\(pid (\d+)\)`)

// running returns the processes of the demo that exist: those that it named, and where there is
// /proc all that it started.
func (d *demoRun) running() (pids []int) {
	for _, match := range pidPattern.FindAllStringSubmatch(d.out.String(), -1) {
		pid, err := strconv.Atoi(match[1])
		if err == nil && alive(pid) {
			pids = append(pids, pid)
		}
	}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environs {
		text, err := os.ReadFile(file)
		if err == nil && bytes.Contains(text, []byte("TMPDIR="+d.dir)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive reports whether there is a process. One that has ended may stay as a zombie, where nobody
// waits for orphans, as in many containers.
func alive(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) == nil && !bytes.Contains(stat, []byte(") Z "))
}

func needBinary(t *testing.T) {
	t.Helper()
	for _, name := range []string{"redis-server", "valkey-server"} {
		if _, err := osexec.LookPath(name); err == nil {
			return
		}
	}
	redistest.Skip(t, "no redis-server or valkey-server on PATH")
}
