package redisconn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// frames cuts a stream into replies, as a wire does that gets it in pieces of a size. What is left
// behind the last one is not returned.
func frames(stream []byte, piece int) (replies []string, err error) {
	var f framer
	for from, have := 0, 0; have < len(stream); {
		have = min(have+piece, len(stream))
		for from < have {
			end, err := f.find(stream[from:have])
			if err != nil {
				return replies, err
			}
			if end == 0 {
				break
			}
			replies = append(replies, string(stream[from:from+end]))
			from += end
		}
	}
	return replies, nil
}

func nested(depth int) string { return strings.Repeat("*1\r\n", depth) + ":1\r\n" }

// wellFormed are replies as Redis writes them.
var wellFormed = []string{
	"+OK\r\n", "+\r\n", "-ERR no\r\n", ":1\r\n", ":-1\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "$0\r\n\r\n",
	"$5\r\nhello\r\n", "$4\r\n\r\n\r\n\r\n", "*2\r\n$1\r\na\r\n:5\r\n", "*3\r\n*0\r\n*1\r\n$-1\r\n*-1\r\n",
	"*2\r\n*2\r\n+a\r\n-b\r\n*1\r\n$3\r\n*1\r\r\n", "+a+b$3\r\n", "$10\r\n0123456789\r\n", nested(maxDepth),
	"+" + strings.Repeat("x", maxLine-3) + "\r\n", "$5000\r\n" + strings.Repeat("y", 5000) + "\r\n",
}

func TestFrames(t *testing.T) {
	t.Parallel()
	stream := []byte(strings.Join(wellFormed, ""))
	for _, piece := range []int{1, 2, 3, 7, 4096, len(stream)} {
		got, err := frames(stream, piece)
		if err != nil || !reflect.DeepEqual(got, wellFormed) {
			t.Errorf("in pieces of %d: %d replies, %v", piece, len(got), err)
		}
	}
}

// hostile are replies that make redigo panic, overflow its stack or fill the memory, and others that are
// none.
var hostile = []struct{ begin, again, want string }{
	{"$9223372036854775807\r\n", "x", "67108864 bytes"},
	{"$8589934592\r\n", "x", "67108864 bytes"},
	{"$67108865\r\n", "x", "67108864 bytes"},
	{"$99999999999999999999999999999999\r\n", "x", "67108864 bytes"},
	{"*4611686018427387904\r\n", ":1\r\n", "1000000 elements"},
	{"*1000001\r\n", ":1\r\n", "1000000 elements"},
	{"*9\r\n*999992\r\n", ":1\r\n", "1000000 elements"},
	{"", "*1\r\n", "8 deep"},
	{nested(maxDepth + 1), "", "8 deep"},
	{"+", strings.Repeat("x", 1000), "65536 bytes"},
	{"-ERR ", strings.Repeat("x", 1000), "65536 bytes"},
	{":", strings.Repeat("1", 1000), "65536 bytes"},
	{"*70\r\n", "$1000000\r\n" + strings.Repeat("x", 1000000) + "\r\n", "67108864 bytes"},
	{"$-2\r\n", "", "no number"},
	{"$1x\r\n", "", "no number"},
	{"*\r\n", "", "missing"},
	{"$3\r\nabcde\r\n", "", "does not end"},
	{"+OK\n", "", "does not end"},
	{"\r\n", "", "byte 0x0d"},
	{"%1\r\n+a\r\n+b\r\n", "", "byte 0x25"},
	{"HTTP/1.1 400 Bad Request\r\n\r\n", "", "HTTP"},
	{"<html>", "", "HTTP"},
	{"\x15\x03\x01\x00\x02\x02\x46", "", "rediss://"},
}

// endless reads begin, and then again for ever.
func endless(begin, again string) io.Reader {
	if again == "" {
		return strings.NewReader(begin)
	}
	block := strings.Repeat(again, 1+1000/len(again))
	return io.MultiReader(strings.NewReader(begin), &repeater{block, 0})
}

type repeater struct {
	block string
	at    int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

// readerConn is a connection on which a stream comes.
type readerConn struct {
	net.Conn
	r      io.Reader
	closed bool
}

func (c *readerConn) Read(p []byte) (int, error)       { return c.r.Read(p) }
func (c *readerConn) SetReadDeadline(time.Time) error  { return nil }
func (c *readerConn) SetWriteDeadline(time.Time) error { return nil }
func (c *readerConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *readerConn) Close() error                     { c.closed = true; return nil }

func wireOver(r io.Reader) (*Wire, *readerConn) {
	c := &readerConn{r: r}
	t := newTap(c)
	return newWire(t, t, "h:1"), c
}

// What redigo must not see ends the connection with an error that says why. What was not sent costs no
// memory.
func TestHostileReplies(t *testing.T) {
	for i, test := range hostile {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			wire, socket := wireOver(endless(test.begin, test.again))
			conn := redis.NewConn(wire, 0, 0)
			var err error
			grown := allocated(func() { _, err = conn.Receive() })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if !socket.closed {
				t.Error("the connection is open")
			}
			limit := uint64(1 << 20)
			if strings.HasPrefix(test.begin, "*70\r\n") {
				limit = 256 << 20 // all of that came, and was moved as it grew
			}
			if grown > limit {
				t.Errorf("%d bytes were allocated", grown)
			}
		})
	}
}

// allocated returns how many bytes f allocates. No other test may run meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A wire keeps no large buffer.
func TestBufferShrinks(t *testing.T) {
	t.Parallel()
	big := "$1000000\r\n" + strings.Repeat("x", 1000000) + "\r\n"
	wire, _ := wireOver(strings.NewReader(big + "+OK\r\n" + "+OK\r\n"))
	conn := redis.NewConn(wire, 0, 0)
	for range 2 {
		if _, err := conn.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	if !wire.surplus() {
		t.Error("the third reply is not seen")
	}
	if _, err := conn.Receive(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if cap(wire.buf) > keepBuffer {
		t.Errorf("a buffer of %d bytes is kept", cap(wire.buf))
	}
}

// FuzzFrames checks the framer against redigo's own reader: whatever redigo reads as one reply is the
// same one behind a wire, in whatever pieces it comes; and no input makes it panic.
func FuzzFrames(f *testing.F) {
	for _, reply := range wellFormed {
		f.Add([]byte(reply), 3)
		f.Add([]byte(reply+"+next\r\n"), 1)
	}
	for _, test := range hostile {
		if len(test.begin+test.again) < 1000 {
			f.Add([]byte(test.begin+test.again), 2)
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		piece = 1 + piece&0xff
		replies, err := frames(stream, piece)
		whole, err2 := frames(stream, max(len(stream), 1))
		if !reflect.DeepEqual(replies, whole) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%q: in pieces of %d %q, %v; at once %q, %v", stream, piece, replies, err, whole, err2)
		}
		wire, _ := wireOver(&pieces{stream, piece})
		behind := redis.NewConn(wire, 0, 0)
		alone := redis.NewConn(&readerConn{r: bytes.NewReader([]byte(strings.Join(replies, "")))}, 0, 0)
		for i := range replies {
			got, err := behind.Receive()
			want, wantErr := alone.Receive()
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%q: reply %d is %v, %v; want %v, %v", stream, i, got, err, want, wantErr)
			}
			if behind.Err() != nil {
				return // a number that is none: redigo has given up
			}
		}
		if len(replies) == 0 && err == nil {
			fuzzNoReply(t, stream)
		}
	})
}

// fuzzLong finds lengths for which redigo allocates much.
var fuzzLong = regexp.MustCompile("[0-9]{5}")

// fuzzNoReply checks that redigo, too, finds no reply in a stream that has no hostile beginning.
func fuzzNoReply(t *testing.T, stream []byte) {
	if fuzzLong.Match(stream) {
		return
	}
	if got, err := redis.NewConn(&readerConn{r: bytes.NewReader(stream)}, 0, 0).Receive(); err == nil {
		t.Fatalf("%q: redigo reads %v, and the framer nothing", stream, got)
	}
}

// pieces reads a stream in pieces of a size.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
