package containers

import (
	"fmt"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// A Server is a Redis in a container. Stopping and killing it act on the container.
type Server struct {
	*redistest.Server // at the published port

	container *container
}

// Start runs a private server in a container, reached at a fixed port of 127.0.0.1, and removes it
// at the end of the test. The test is skipped where no container can be had. Each conf is a line of
// redis.conf, as in [redistest.Start].
func Start(t testing.TB, conf ...string) *Server {
	t.Helper()
	image, err := dockerImage()
	if err != nil {
		redistest.Skip(t, "no Redis in Docker: "+err.Error())
	}
	s := &Server{}
	s.Server = redistest.StartOn(t, func() (redistest.Host, string, error) {
		port := redistest.FreePort(t)
		s.container = newContainer(image, port, conf)
		return s.container, fmt.Sprintf("127.0.0.1:%d", port), nil
	}, conf...)
	return s
}

// ContainerAddr is where the server is in its own network. There nothing stands before it that
// accepts connections for a server that does not answer. The address can change whenever the server
// is started or connected; there is none while it is disconnected, which is an error.
func (s *Server) ContainerAddr() (string, error) { return s.container.address() }

// Disconnect takes the server out of its network: what is sent to it, or by it, is lost without a
// word.
func (s *Server) Disconnect(t testing.TB) {
	t.Helper()
	if err := s.container.disconnect(); err != nil {
		t.Fatalf("containers: disconnect: %v", err)
	}
}

// Connect is the opposite of [Server.Disconnect].
func (s *Server) Connect(t testing.TB) {
	t.Helper()
	if err := s.container.connect(); err != nil {
		t.Fatalf("containers: connect: %v", err)
	}
}
