package locks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Calls are the ways to ask for a lock.
var Calls = map[string]func(context.Context, *lock.Mutex) (*lock.Lease, error){
	"Lock":    func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.Lock(ctx) },
	"TryLock": func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) { return m.TryLock(ctx) },
	"Do": func(ctx context.Context, m *lock.Mutex) (*lock.Lease, error) {
		return nil, m.Do(ctx, func(context.Context) error { return nil })
	},
}

// AtOnce calls each way to ask for a lock, each of a new client, and returns the errors, which must
// come at once and name nothing secret.
func AtOnce(t testing.TB, open func() *lock.Client, secret string) map[string]error {
	t.Helper()
	errs := map[string]error{}
	for name, call := range Calls {
		began := time.Now()
		lease, err := call(Soon(t), open().Mutex("job"))
		t.Logf("%s told after %v", name, Took(t, name, began, time.Now(), Slack))
		if err == nil || lease != nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error repeats the password: %v", name, err)
		}
		if errors.Is(err, lock.ErrHeld) {
			t.Errorf("%s: %v: is ErrHeld", name, err)
		}
		errs[name] = err
	}
	return errs
}
