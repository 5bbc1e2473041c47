package lock_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/locktest"
)

// The line of shell for operators reads the time in an owner's id.
func TestLineThatReadsATime(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(page), "redis-cli GET lock:reports:nightly | ")
	line, _, _ = strings.Cut(line, "\n")
	if !ok || !strings.HasPrefix(line, "awk ") {
		t.Fatalf("docs/operating.md has no such line: %q", line)
	}
	if _, err := exec.LookPath("awk"); err != nil {
		redistest.Skip(t, "there is no awk")
	}
	lease := acquire(t, locktest.Client(t).Mutex("job"))
	for _, id := range []string{lease.ID(), lease.ID() + "/kept"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Stdin = strings.NewReader(id + "\n")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if since := time.Since(time.Unix(seconds, 0)); err != nil || since < 0 || since > time.Minute {
			t.Errorf("%q says %v, %v ago", out, err, since)
		}
	}
}
