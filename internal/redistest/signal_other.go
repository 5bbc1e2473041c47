//go:build !unix

package redistest

import "errors"

// errNoPause is because only unix has signals that stop a process.
var errNoPause = errors.New("a process cannot be paused on this system: use a container")

func (p *process) pause() error  { return errNoPause }
func (p *process) resume() error { return errNoPause }

// alive reports whether there is a process with this id. It cannot be known here; what may be in use
// is left alone.
func alive(int) bool { return true }
