//go:build !linux

package redistest

import "errors"

func newThreads() (threads, error) { return nil, errors.New("only Linux has them") }
