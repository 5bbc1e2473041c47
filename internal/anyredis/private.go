package anyredis

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/holdfast-go/holdfast/internal/redisproc"
)

// private starts a server of our own, from PATH. The error says why there is none.
func (r *Redis) private(ctx context.Context) error {
	var first error
	for _, program := range redisproc.Programs() {
		err := r.run(ctx, program)
		if err == nil {
			name := filepath.Base(program)
			r.About = fmt.Sprintf("a private %s (%s), which ends with this program", name, program)
			return nil
		}
		if first == nil {
			first = fmt.Errorf("%s does not start: %w", program, err)
		}
	}
	if first == nil {
		return errors.New("no redis-server or valkey-server on PATH")
	}
	return first
}

// run starts a server, and returns when it answers.
func (r *Redis) run(ctx context.Context, program string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	config := redisproc.Config{Program: program, Network: "unix", Lines: redisproc.InMemory()}
	server, err := redisproc.Run(ctx, config, func(ctx context.Context, p *redisproc.Process) error {
		return ping(ctx, "unix://"+p.Addr)
	})
	if err != nil {
		return err
	}
	r.URL, r.stop = "unix://"+server.Addr, server.Remove
	return nil
}
