package lock

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/bridge"
	"github.com/holdfast-go/holdfast/internal/scripts"
)

func init() {
	bridge.Of = func(client any) bridge.Client {
		c := client.(*Client)
		if c.missing() {
			panic(errNoClient)
		}
		return bridged{c}
	}
}

// bridged is a client as the packages beside this one see it.
type bridged struct{ client *Client }

func (b bridged) Key(kind, name string) string { return b.client.store.prefix + kind + name }

func (b bridged) CheckName(name string) error { return b.client.checkName(name) }

func (b bridged) LockKey(kind, name string) string { return b.client.store.beside(kind, name) }

func (b bridged) Eval(ctx context.Context, op, name string, script *scripts.Script,
	keys []string, args ...any,
) (any, error) {
	return b.eval(ctx, op, name, func() (any, error) {
		return b.EvalBy(ctx, limitFromNow(), script, keys, args...)
	})
}

func (b bridged) EvalBy(ctx context.Context, limit time.Time, script *scripts.Script,
	keys []string, args ...any,
) (any, error) {
	reply, _, err := b.client.store.evalOnce(ctx, limit, script, keys, args...)
	return reply, err
}

func (b bridged) Again(ctx context.Context, op, name string, script *scripts.Script,
	keys []string, args ...any,
) (any, error) {
	return b.eval(ctx, op, name, func() (reply any, err error) {
		err = b.client.twice(ctx, func() (err error) {
			reply, _, err = b.client.store.eval(ctx, limitFromNow(), script, keys, args...)
			return err
		})
		return reply, err
	})
}

func (b bridged) eval(ctx context.Context, op, name string, do func() (any, error)) (any, error) {
	if err := b.client.enter(ctx); err != nil {
		return nil, err
	}
	defer b.client.calls.leave()
	reply, err := do()
	if err != nil {
		return nil, explain(op, name, err)
	}
	return reply, nil
}
