//go:build unix

package redisconn

import "syscall"

// canPeek says that sockets can be read without blocking.
const canPeek = true

// A nowait reads from a socket without blocking. It keeps its arguments itself, so that nothing is
// allocated. One goroutine uses it at a time.
type nowait struct {
	call func(fd uintptr)
	p    []byte
	n    int
	err  error
}

func (r *nowait) init() { r.call = r.read }

// from reads into p; 0 is the end of the stream.
func (r *nowait) from(raw syscall.RawConn, p []byte) (int, error) {
	r.p = p
	// Control and not Read, which obeys the read deadline of the last reply.
	err := raw.Control(r.call)
	r.p = nil
	if err != nil {
		return 0, err
	}
	return r.n, r.err
}

// read is what Control calls. Go's sockets never block.
func (r *nowait) read(fd uintptr) {
	for {
		r.n, r.err = syscall.Read(int(fd), r.p)
		switch r.err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			r.n, r.err = 0, nothingThere{}
		}
		return
	}
}
