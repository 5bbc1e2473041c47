package anyredis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/child"
)

// private starts a server of our own, from PATH. The error says why there is none.
func (r *Redis) private(ctx context.Context) error {
	var tried []error
	for _, name := range []string{"redis-server", "valkey-server"} {
		bin, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if err = r.run(ctx, bin); err == nil {
			r.About = fmt.Sprintf("a private %s (%s), which ends with this program", name, bin)
			return nil
		}
		tried = append(tried, fmt.Errorf("%s does not start: %w", bin, err))
	}
	if len(tried) == 0 {
		return errors.New("no redis-server or valkey-server on PATH")
	}
	return tried[0]
}

// run starts a server, and returns when it answers.
func (r *Redis) run(ctx context.Context, bin string) error {
	dir, err := tempDir()
	if err != nil {
		return err
	}
	socket, logFile := filepath.Join(dir, "redis.sock"), filepath.Join(dir, "redis.log")
	server, err := start(bin, socket, logFile)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	r.URL = "unix://" + socket
	r.stop = func() error { return errors.Join(server.Kill(), os.RemoveAll(dir)) }
	if err := answers(ctx, r.URL, server); err != nil {
		last := lastLine(logFile)
		_ = r.stop() // it has ended, or was killed just now
		return fmt.Errorf("%w; its last words: %q", err, last)
	}
	return nil
}

func start(bin, socket, logFile string) (*child.Process, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700",
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", filepath.Dir(socket))
	cmd.Stdout, cmd.Stderr = log, log
	return child.Start(cmd)
}

// answers waits until the server answers, has ended, or should have answered by now.
func answers(ctx context.Context, url string, server *child.Process) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ping(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-server.Done():
			return fmt.Errorf("it ended at once (%v)", server.Wait())
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w", err)
		}
	}
}

func lastLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	text = bytes.TrimSpace(text)
	return strings.TrimSpace(string(text[bytes.LastIndexByte(text, '\n')+1:]))
}

// tempDir makes a directory with a path short enough for a unix socket (104 bytes on some systems).
func tempDir() (string, error) {
	parent := os.TempDir()
	if len(parent) > 70 {
		parent = "/tmp"
	}
	return os.MkdirTemp(parent, "holdfast-")
}
