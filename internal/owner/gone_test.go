package owner

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A process that is found under our own process id is the old holder only if the lock may be ours.
func TestGoneUnderOurOwnID(t *testing.T) {
	t.Parallel()
	label := fmt.Sprintf("host:%d", os.Getpid())
	id, err := New(label)
	if err != nil {
		t.Fatal(err)
	}
	ours := Parse(id).Since
	older := ours.Add(-time.Millisecond)
	var o oldest
	if !o.after(ours) {
		t.Error("a process that has used no id has a lock")
	}
	for _, id := range []string{
		"mine", "importer/00000000040000000000000000", "host:1000000000/00000000040000000000000000",
	} {
		o.uses(id) // nobody would take it for ours
	}
	if o.uses(id); o.after(ours) || o.after(ours.Add(time.Hour)) || !o.after(older) {
		t.Error("ours is what is as old as our oldest id, or younger")
	}
	if o.uses(label + "/00000000040000000000000000"); o.after(older) { // of 1970, handed on to us
		t.Error("what we have taken over is not ours")
	}
	if Gone(os.Getpid(), ours) || !Gone(os.Getpid(), time.UnixMilli(1)) {
		t.Error("not told by what this process has used")
	}
}

// A process that has ended is gone, and one that runs is not.
func TestGone(t *testing.T) {
	t.Parallel()
	if !CanTellDead {
		t.Skip("this system cannot tell")
	}
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	if pid := child.Process.Pid; !Gone(pid, time.Now().Add(-time.Minute)) {
		t.Errorf("process %d has ended, and is not gone", pid)
	}
	if pid := os.Getppid(); pid > 0 && Gone(pid, time.Now()) {
		t.Errorf("process %d, which started us, is gone", pid)
	}
}
