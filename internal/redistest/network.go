package redistest

import "testing"

// ContainerAddr is where a server of [StartDocker] is in its own network. There nothing stands before
// it that accepts connections for a server that does not answer. The address can change whenever the
// server is started or connected; there is none while it is disconnected, which is an error.
func (s *Server) ContainerAddr(t testing.TB) (string, error) {
	t.Helper()
	return s.container(t).address()
}

// Disconnect takes a server of [StartDocker] out of its network: what is sent to it, or by it, is lost
// without a word.
func (s *Server) Disconnect(t testing.TB) {
	t.Helper()
	if err := s.container(t).disconnect(); err != nil {
		t.Fatalf("redistest: disconnect: %v", err)
	}
}

// Connect is the opposite of [Server.Disconnect].
func (s *Server) Connect(t testing.TB) {
	t.Helper()
	if err := s.container(t).connect(); err != nil {
		t.Fatalf("redistest: connect: %v", err)
	}
}

func (s *Server) container(t testing.TB) *container {
	t.Helper()
	c, ok := s.host.(*container)
	if !ok {
		Skip(t, "needs a server in a container")
	}
	return c
}
