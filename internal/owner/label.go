package owner

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// DefaultLabel returns the label of this process: hostname:pid.
func DefaultLabel() string { return fmt.Sprintf("%s:%d", Hostname(), os.Getpid()) }

// Hostname returns the host's name in the form that labels have: what a label must not contain
// becomes an underscore. A host without a name is "localhost".
func Hostname() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "localhost"
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || r == '{' || r == '}' {
			return '_'
		}
		return r
	}, host)
}

// process returns the parts of a label of the form hostname:pid, else nothing.
func process(label string) (host string, pid int) {
	colon := strings.LastIndexByte(label, ':')
	if colon < 1 {
		return "", 0
	}
	pid, err := strconv.Atoi(label[colon+1:])
	if err != nil || pid < 1 || label[colon+1] == '+' {
		return "", 0
	}
	return label[:colon], pid
}
