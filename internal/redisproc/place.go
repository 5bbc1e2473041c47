package redisproc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

// FreePort finds a port of 127.0.0.1 that nobody listens on. Somebody may take it at any time. It
// is below the range from which systems take the ports of outgoing connections. Those could take it
// while the server is down, and a client that dials such a port can end up connected to itself.
func FreePort() (int, error) {
	for range 100 {
		port := 16384 + rand.IntN(16384)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port on 127.0.0.1")
}

// tempDir makes a directory with a path short enough for a unix socket (104 bytes on some systems).
func tempDir() (string, error) {
	parent := os.TempDir()
	if len(parent) > 70 {
		parent = "/tmp"
	}
	return os.MkdirTemp(parent, "holdfast-")
}
