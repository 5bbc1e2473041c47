package redisconn

import (
	"bytes"
	"errors"
	"fmt"
)

// What a reply may be at most. redigo believes whatever length it is told: it allocates that much,
// and calls itself for each level of nesting. So replies are measured before it sees them.
const (
	maxReply    = 64 << 20  // bytes of a whole reply
	maxElements = 1_000_000 // that all arrays of a reply have together
	maxDepth    = 8         // arrays within each other
	maxLine     = 64 << 10  // bytes of a line
)

// ErrLimit is the error of a reply that is larger than Redis ever answers a lock.
var ErrLimit = errors.New("the reply is beyond every limit")

func beyond(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrLimit}, args...)...)
}

// A strange error says that what came is no reply of Redis.
type strange struct{ what string }

func (e *strange) Error() string { return "this is no reply of Redis: " + e.what }

// A framer finds the end of a reply in the bytes of a connection, without keeping any of them. Its
// zero value is at the beginning of a reply.
type framer struct {
	pos      int           // bytes of the reply that are behind it
	seen     int           // bytes behind pos in which the line under way does not end
	bulk     bool          // at pos begins the end of a bulk string: \r\n
	elements int           // announced so far
	open     [maxDepth]int // how many elements are missing in each array that is open
	depth    int           // how many are open
}

// find returns where the reply ends that begins with p; 0 if it does not end in p. The next call
// must get the same bytes and more. After an error it must not be called again.
func (f *framer) find(p []byte) (end int, err error) {
	for {
		complete, err := f.step(p)
		switch {
		case err != nil:
			return 0, err
		case !complete:
			return 0, nil
		case !f.bulk && f.depth == 0:
			end = f.pos
			*f = framer{}
			return end, nil
		}
	}
}

// step goes on by one line, or by the end of a bulk string; false says that it is not in p yet.
func (f *framer) step(p []byte) (bool, error) {
	if f.bulk {
		return f.endOfBulk(p)
	}
	rest := p[min(f.pos, len(p)):]
	i := bytes.IndexByte(rest[f.seen:], '\n')
	if i < 0 {
		f.seen = len(rest)
		if len(rest) >= len("HTTP/") && !known(rest[0]) {
			return false, stranger(rest)
		}
		if len(rest) > maxLine {
			return false, beyond("a line has more than %d bytes", maxLine)
		}
		return false, f.measure(0)
	}
	line := rest[:f.seen+i+1]
	f.seen = 0
	if len(line) > maxLine {
		return false, beyond("a line has more than %d bytes", maxLine)
	}
	if !known(line[0]) {
		return false, stranger(line)
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return false, &strange{"a line does not end as it must"}
	}
	f.pos += len(line)
	return true, f.header(line[0], line[1:len(line)-2])
}

func known(kind byte) bool { return bytes.IndexByte([]byte("$*+-:"), kind) >= 0 }

// header takes note of what a line announces.
func (f *framer) header(kind byte, text []byte) error {
	n, err := -1, error(nil)
	if kind == '$' || kind == '*' {
		n, err = length(text)
	}
	switch {
	case err != nil:
		return err
	case kind == '$' && n >= 0:
		err = f.measure(n)
		f.pos, f.bulk = f.pos+n, true
		return err
	case kind == '*' && n > 0:
		return f.openArray(n)
	}
	f.element()
	return f.measure(0)
}

// openArray begins an array of n elements.
func (f *framer) openArray(n int) error {
	if n > maxElements-f.elements {
		return beyond("it has more than %d elements", maxElements)
	}
	if f.depth == maxDepth {
		return beyond("arrays are nested more than %d deep", maxDepth)
	}
	f.elements += n
	f.open[f.depth] = n
	f.depth++
	return f.measure(0)
}

// endOfBulk looks at what stands behind a bulk string.
func (f *framer) endOfBulk(p []byte) (bool, error) {
	if len(p) < f.pos+2 {
		return false, nil
	}
	if p[f.pos] != '\r' || p[f.pos+1] != '\n' {
		return false, &strange{"a string does not end where it must"}
	}
	f.pos += 2
	f.bulk = false
	f.element()
	return true, nil
}

// element takes note that one has ended, and with it perhaps the arrays that it is the last of.
func (f *framer) element() {
	for f.depth > 0 {
		f.open[f.depth-1]--
		if f.open[f.depth-1] > 0 {
			return
		}
		f.depth--
	}
}

// measure checks the size of the reply with n bytes that were announced.
func (f *framer) measure(n int) error {
	if n > maxReply-f.pos-2 {
		return beyond("it has more than %d bytes", maxReply)
	}
	return nil
}

// length returns a length as redigo reads it, -1 for none at all, but no larger one than fits.
func length(text []byte) (int, error) {
	if string(text) == "-1" {
		return -1, nil
	}
	n := 0
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return 0, &strange{"a length is no number"}
		}
		if n = 10*n + int(digit-'0'); n > 2*maxReply {
			n = 2 * maxReply // beyond every limit; further digits do not overflow
		}
	}
	if len(text) == 0 {
		return 0, &strange{"a length is missing"}
	}
	return n, nil
}

// stranger returns what it means that a reply begins like this. Nothing of it is quoted: it may be
// what was sent, with a password.
func stranger(line []byte) error {
	switch {
	case bytes.HasPrefix(line, []byte("HTTP/")), bytes.HasPrefix(line, []byte("<")):
		return &strange{"an HTTP server answers there"}
	case len(line) > 1 && (line[0] == 0x15 || line[0] == 0x16) && line[1] == 3:
		return &strange{"a TLS server answers there: use TLS (rediss://, or a configuration for" +
			" lock.NetDial)"}
	}
	return &strange{fmt.Sprintf("it begins with the byte %#02x", line[0])}
}
