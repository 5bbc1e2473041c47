package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// fuzzSecret stands in every password, so that a piece of it that comes out is seen.
const fuzzSecret = "s3cr3t"

// fuzzPasswords are what stands before and behind the secret. Written into a URL without encoding,
// they put it into each part of one.
var fuzzPasswords = [][2]string{
	{"", ""},
	{"a/", ""},
	{"12/", ""},
	{"a?", ""},
	{"12?", ""},
	{"a#", ""},
	{"12#", ""},
	{"a@", ""},
	{"", "@b"},
	{"a:", ""},
	{"", "%"},
	{"%zz", ""},
	{"\x00", ""},
	{"\r\n", ""},
	{" ", " "},
	{"[", "]"},
	{"[::1", ""},
	{`\`, ""},
	{"/", "/"},
	{"//", ""},
	{"12/0", ""},
	{"ü", "ü"},
	{"\xff", ""},
	{"`", "'"},
	{"", ", with args beginning with: "},
}

// FuzzDialErrors checks that no way to fail of a dial tells the password: neither what redigo's DialURL,
// which a pool's dialer may use, says of a URL that cannot be used, nor a host that cannot be
// reached, nor a server that quotes what it was sent. Whatever was dialled, the error names no part
// of the URL's user information.
func FuzzDialErrors(f *testing.F) {
	for _, password := range fuzzPasswords {
		for _, scheme := range []string{"redis://", "rediss://", "redis:", "http://", ""} {
			f.Add(scheme, "me", password[0], password[1], "@127.0.0.1:1/0")
			f.Add(scheme, "", password[0], password[1], "@127.0.0.1:1/x")
			f.Add(scheme, "me", password[0], password[1], "@127.0.0.1:port")
			f.Add(scheme, "me", password[0], password[1], "@127.0.0.1:1/0@")
		}
	}
	f.Fuzz(func(t *testing.T, scheme, user, before, after, tail string) {
		if strings.Contains(scheme+user+tail, "s3") {
			return // the secret is to stand in the password only
		}
		password := before + fuzzSecret + after
		raw := scheme + user + ":" + password + tail
		if u, err := url.Parse(raw); err == nil && strings.Contains(u.Host, fuzzSecret) {
			return // written without encoding, it looks like the host, which errors must name
		}
		pool := &redis.Pool{Dial: func() (redis.Conn, error) { return redis.DialURL(raw, fuzzUnreachable) }}
		dialer, err := PoolDialer(pool)
		if err != nil {
			t.Fatal(err)
		}
		fuzzDial(t, "DialURL", raw, dialer)
		if dialer, err := ParseURL(raw); err == nil {
			fuzzDial(t, "ParseURL", raw, dialer)
		}
		for _, format := range fuzzQuotes {
			reply := redis.Error(fmt.Sprintf(format, password))
			fuzzDial(t, "AUTH", string(reply), Dialer{
				Dial: func(context.Context) (redis.Conn, error) { return nil, reply },
			})
		}
		for _, u := range []url.URL{
			{Scheme: "redis", Host: "127.0.0.1:1"},
			{Scheme: "rediss", Host: "127.0.0.1:1", Path: "/3"},
			{Scheme: "unix", Path: "/nowhere/redis.sock"},
		} {
			u.User = url.UserPassword(user, password)
			dialer, err := ParseURL(u.String())
			if err != nil {
				t.Fatalf("%s: %v", u.String(), err)
			}
			fuzzDial(t, "an unreachable host", u.String(), dialer)
		}
	})
}

// fuzzQuotes are how versions of Redis quote a command that they do not know.
var fuzzQuotes = []string{
	"ERR unknown command `AUTH`, with args beginning with: `%s`, ",
	"ERR unknown command 'AUTH', with args beginning with: '%s' ",
	"ERR unknown command 'AUTH', with args beginning with: 'me' '%s' ",
}

// fuzzUnreachable stands for a network without any host: what is dialled is told, as net does.
var fuzzUnreachable = redis.DialNetDial(func(network, addr string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: network, Err: &net.AddrError{Err: "no such host", Addr: addr}}
})

// fuzzDial dials and checks the error.
func fuzzDial(t *testing.T, how, what string, dialer Dialer) {
	t.Helper()
	s := NewSource(dialer, "n")
	defer s.Close(time.Second)
	link, err := s.NewPort().Dial(time.Second)
	if err == nil {
		link.Close()
		t.Skip("somebody listens there")
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if text := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(text, fuzzSecret) {
			t.Errorf("%s, %q: the error is %s", how, what, text)
		}
	}
}
