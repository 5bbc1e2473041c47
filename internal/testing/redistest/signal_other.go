//go:build !unix

package redistest

import "errors"

// errNoPause is because only unix has signals that stop a process.
var errNoPause = errors.New("a process cannot be paused on this system: use a container")

func (p process) Pause() error  { return errNoPause }
func (p process) Resume() error { return errNoPause }
