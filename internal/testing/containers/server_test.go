package containers_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/containers"
	"github.com/holdfast-go/holdfast/internal/testing/contract"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/internal/testing/redistest/lifecycle"
)

func TestContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, contract.On(containers.Start(t).Server))
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	lifecycle.Run(t, func(t testing.TB, conf ...string) *redistest.Server {
		t.Helper()
		return containers.Start(t, conf...).Server
	})
}
