package lock_test

import (
	"fmt"

	"github.com/holdfast-go/holdfast/pool"
	"github.com/holdfast-go/holdfast/register"
)

// What the packages beside this one do with a client. Each returns nil if all of it works.

func aclPools(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	p := pool.New(c, a.name, nil)
	if _, _, err := p.Assign(soon(a), "a", "b"); err != nil {
		return fmt.Errorf("assign: %w", err)
	}
	if _, err := p.Extend(soon(a), "c"); err != nil {
		return fmt.Errorf("extend: %w", err)
	}
	if _, err := p.Shrink(soon(a), "a"); err != nil {
		return fmt.Errorf("shrink: %w", err)
	}
	lease, err := p.Lock(soon(a))
	if err != nil {
		return fmt.Errorf("take: %w", err)
	}
	if all, err := p.Status(soon(a)); err != nil || len(all) != 2 || !all[0].Held {
		return fmt.Errorf("status: %v, %w", all, err)
	}
	return lease.Unlock(soon(a))
}

func aclRegisters(a *aclCase) error {
	c := a.client(nil)
	defer c.Close()
	r := register.New(c, a.name)
	for _, value := range []register.Number{"1", "3", "2"} { // the last one is refused
		if _, err := r.SetIf(soon(a), register.Less, value, value, nil); err != nil {
			return fmt.Errorf("set: %w", err)
		}
	}
	if value, _, err := r.Get(soon(a)); err != nil || value != "3" {
		return fmt.Errorf("get: %v, %w", value, err)
	}
	if err := register.NewGate(c, a.name+"-gate").Pass(soon(a), 1); err != nil {
		return fmt.Errorf("pass a gate: %w", err)
	}
	_, err := r.DeleteIf(soon(a), register.Equal, "3", nil)
	return err
}
