package redistest_test

import (
	"os/exec"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestStartProgram(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		redistest.Skip(t, err.Error())
	}
	s := redistest.StartProgram(t, program, "hz 77")
	if hz := s.Do(t, "CONFIG", "GET", "hz").([]any); string(hz[1].([]byte)) != "77" {
		t.Errorf("hz %s", hz[1])
	}
}
