package redisproc

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// An Ask asks a server whether it answers.
type Ask func(ctx context.Context, p *Process) error

// Run prepares a server, starts it and returns when it answers. What has failed to start is
// removed.
func Run(ctx context.Context, config Config, ask Ask) (*Process, error) {
	p, err := New(config)
	if err != nil {
		return nil, err
	}
	if err = p.Start(); err == nil {
		err = p.await(ctx, ask)
	}
	if err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	return p, nil
}

// await is Await for a process, with errors that tell how it ended.
func (p *Process) await(ctx context.Context, ask Ask) error {
	err := Await(ctx, func(ctx context.Context) error { return ask(ctx, p) }, p.Exited)
	if err == nil {
		return nil
	}
	if p.Exited() {
		err = fmt.Errorf("it ended at once (%v)", p.child.Wait())
	}
	log := strings.TrimSpace(p.Log())
	return fmt.Errorf("%w; its last words: %q", err, log[strings.LastIndexByte(log, '\n')+1:])
}
