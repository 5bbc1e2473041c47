//go:build !unix

package owner

import "time"

const canTellDead = false

func dead(int, time.Time) bool { return false }
