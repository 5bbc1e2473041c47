// Package redisproc runs a server program that is ours alone, such as redis-server. Tests, the
// demo, the examples and the measurements start their private servers with it.
//
//	p, err := redisproc.Run(ctx, redisproc.Config{Program: path, Network: "unix"}, ping)
//	...
//	defer p.Remove()
//
// A server has a directory of its own, which goes with it. The server is a child process that does
// not outlive this one: see package child.
package redisproc

import "os/exec"

// A Config says how a server is to run.
type Config struct {
	Program string   // its path
	Network string   // "unix" for a socket in its directory, or "tcp" for a free port of 127.0.0.1
	Lines   []string // of redis.conf: a line overrides what comes before it

	// Within calls start where the process is to be started, in another network namespace, say. Nil
	// is here.
	Within func(start func() error) error
}

// Programs returns the server programs that are on PATH, the best first.
func Programs() []string {
	var found []string
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// InMemory returns lines with which a server keeps nothing on disk.
func InMemory() []string { return []string{`save ""`, "appendonly no"} }
