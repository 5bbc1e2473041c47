//go:build !unix

package redisconn

import "syscall"

// canPeek says that sockets cannot be read without blocking.
const canPeek = false

type nowait struct{}

func (*nowait) init() {}

func (*nowait) from(syscall.RawConn, []byte) (int, error) { return 0, nothingThere{} }
