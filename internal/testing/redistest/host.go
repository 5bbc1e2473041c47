package redistest

import "testing"

// A Host runs one server, at the same address at every start.
type Host interface {
	Start() error  // returns when it runs; it need not answer yet
	Pause() error  // it answers nothing and loses nothing
	Resume() error // the opposite of Pause
	Kill() error   // without any warning; returns when it is gone; nil if it was gone already
	Remove() error // for good: kills it, and deletes what it left on this machine
	Exited() bool  // whether it came to its end
	Log() string   // what it wrote
	Pid() int      // on this machine; 0 if it has none
}

// StartOn is [StartTCP] on a host of the caller's: prepare makes one that has not been started, for
// a server that is to be at addr. If another program takes the port of addr before the server has
// it, prepare is called again.
func StartOn(t testing.TB, prepare func() (h Host, addr string, err error), conf ...string) *Server {
	t.Helper()
	return started(t, func() (*Server, error) {
		h, addr, err := prepare()
		if err != nil {
			return nil, err
		}
		return &Server{network: "tcp", addr: addr, password: secret(conf), host: h}, nil
	})
}
