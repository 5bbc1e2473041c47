package pool_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// onBoth runs a test on a real server of its own and on the embedded one.
func onBoth(t *testing.T, test func(t *testing.T, open locks.Opener)) {
	t.Helper()
	locks.OnBoth(t, func(t testing.TB) *redistest.Server { return redistest.Start(t) }, test)
}
