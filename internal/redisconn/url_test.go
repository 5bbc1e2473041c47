package redisconn

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]address{
		"redis://localhost":               {network: "tcp", addr: "localhost:6379"},
		"redis://localhost/":              {network: "tcp", addr: "localhost:6379"},
		"redis://localhost:":              {network: "tcp", addr: "localhost:6379"},
		"REDIS://localhost:7000/15":       {network: "tcp", addr: "localhost:7000", db: 15},
		"redis://[::1]:7000/0":            {network: "tcp", addr: "[::1]:7000"},
		"redis://[::1]":                   {network: "tcp", addr: "[::1]:6379"},
		"redis://:pw@h":                   {network: "tcp", addr: "h:6379", password: "pw"},
		"redis://me:p%40%2F%3F%23%3A@h:1": {network: "tcp", addr: "h:1", user: "me", password: "p@/?#:"},
		"redis://me:p@w:x@h":              {network: "tcp", addr: "h:6379", user: "me", password: "p@w:x"},
		"redis://me:%25%0A%00@h":          {network: "tcp", addr: "h:6379", user: "me", password: "%\n\x00"},
		"rediss://me:pw@h/2":              {network: "tcp", addr: "h:6379", tls: true, user: "me", password: "pw", db: 2},
		"unix:///run/redis.sock":          {network: "unix", addr: "/run/redis.sock"},
		"unix:///run/redis.sock?db=3":     {network: "unix", addr: "/run/redis.sock", db: 3},
		"unix://:pw@/run/a%40b%20c.sock":  {network: "unix", addr: "/run/a@b c.sock", password: "pw"},
		"unix://me:pw@/run/s?db=0":        {network: "unix", addr: "/run/s", user: "me", password: "pw"},
	} {
		got, err := parseAddress(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if *got != want {
			t.Errorf("%s: %+v, want %+v", raw, *got, want)
		}
	}
}

// badURLs are refused, each by an error that begins like this.
var badURLs = map[string][]string{
	"the URL cannot be parsed": {
		"redis://user:pa%zz@host", "redis://user:pa\x01ss@host", "redis://user:pa ss@ho st",
		"redis://user:pa/ss@host:6379/0", "redis://h:port", "redis://:pa%2", "127.0.0.1:6379",
		"unix://u:p?w@/run/s", "redis://user:p#w@host", "redis://user:pa\\ss@host",
		"redis://user:p\nw@host", "redis://[::1",
	},
	"the URL has an '@' or a '#'": {
		"redis://user:12/s3cret@host", "redis://user:12?s3cret@host", "redis://:12#s3cret@host",
		"redis://h#", "redis://h/0#frag", "redis:user:pw@host", "unix:///run/a@b", "user:pw@host",
		"unix://:12?3@/run/s", "redis://user:1#2@host",
	},
	"the URL names a user and no password": {"redis://x@host", "redis://user:@host", "unix://u@/run/s"},
	"the URL's scheme is not known": {
		"", "host", "/run/redis.sock", "http://host", "localhost:6379", "redis-sentinel://h", "valkey://h",
	},
	"the URL names no host": {"redis://", "redis:///0", "redis://:6379", "redis:6379", "redis://:pw@"},
	"the URL has a parameter": {
		"redis://h?db=1", "redis://h?", "rediss://h/0?ssl=false", "unix:///s?timeout=1",
		"unix:///s?db=1&db=2",
	},
	"the URL's port":              {"redis://h:0", "redis://h:65536", "redis://h:99999999999"},
	"the URL names no socket":     {"unix://", "unix:///", "unix://run/redis.sock", "unix:run/redis.sock"},
	"the URL's parameters cannot": {"unix:///s?db=%zz", "unix:///s?a;b"},
	"the URL's database": {
		"redis://h/x", "redis://h/-1", "redis://h/+1", "redis://h/0/1", "redis://h//", "redis://h/1.5",
		"redis://h/99999999999", "unix:///s?db=x", "unix:///s?db=-1", "redis://h/%31%20",
	},
}

func TestParseBadURL(t *testing.T) {
	t.Parallel()
	for want, urls := range badURLs {
		for _, raw := range urls {
			if _, err := ParseURL(raw); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%q: %v, want %s…", raw, err, want)
			}
		}
	}
}

// FuzzParseURL checks that an error repeats nothing of the URL: there is only a handful of texts,
// which are known before.
func FuzzParseURL(f *testing.F) {
	known := make(map[string]bool)
	for _, urls := range badURLs {
		for _, raw := range urls {
			f.Add(raw, "s3cret")
			_, err := ParseURL(raw)
			known[err.Error()] = true
		}
	}
	for _, password := range []string{
		"a@b", "a/b", "a?b", "a#b", "a:b", "a%b", "a%41b", "a\x00b", "a\r\nb", "@", "ü", " ",
	} {
		f.Add("redis://user:"+password+"@host:6379/0", password)
		f.Add("unix://:"+password+"@/run/redis.sock?db=1", password)
	}
	f.Fuzz(func(t *testing.T, raw, password string) {
		if _, err := ParseURL(raw); err != nil && !known[err.Error()] {
			t.Errorf("%q: an unknown error: %v", raw, err)
		}
		if password == "" {
			return
		}
		u := url.URL{Scheme: "redis", Host: "h", User: url.UserPassword("me", password)}
		a, err := parseAddress(u.String())
		if err != nil {
			t.Errorf("a password that is encoded: %v", err)
		} else if a.password != password || a.user != "me" || a.addr != "h:6379" {
			t.Errorf("%q: %+v", u.String(), a)
		}
	})
}

func TestPasswordInClear(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		"redis://:pw@redis.example.com":         true,
		"redis://me:pw@redis:6379/1":            true,
		"redis://:pw@10.0.0.1":                  true,
		"redis://:pw@[fd00::1]:6379":            true,
		"redis://:pw@128.0.0.1":                 true,
		"redis://:pw@localhost.example.com":     true,
		"redis://:pw@notlocalhost":              true,
		"redis://:pw@127.0.0.1.example.com":     true,
		"redis://redis.example.com":             false, // there is none
		"rediss://:pw@redis.example.com":        false,
		"unix://:pw@/run/redis.sock":            false,
		"unix://:pw@/run/redis:6379":            false,
		"redis://:pw@localhost":                 false,
		"redis://:pw@LocalHost.:6379":           false,
		"redis://:pw@redis.localhost":           false,
		"redis://:pw@127.0.0.1":                 false,
		"redis://:pw@127.255.0.9:7000":          false,
		"redis://:pw@[::1]":                     false,
		"redis://:pw@[::ffff:127.0.0.1]:6379/0": false,
		"redis://:pw@host/not-a-database":       false, // and no URL that works
	} {
		if got := PasswordInClear(raw); got != want {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}

func TestErrorsAreAHandful(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, urls := range badURLs {
		for _, raw := range urls {
			_, err := ParseURL(raw)
			if err != nil && !slices.Contains(texts, err.Error()) {
				texts = append(texts, err.Error())
			}
		}
	}
	if len(texts) != 11 {
		t.Errorf("%d texts: an error depends on the URL:\n%s", len(texts), strings.Join(texts, "\n"))
	}
}

func TestDialURL(t *testing.T) {
	t.Parallel()
	tcp := redistest.StartTCP(t, "requirepass s3cret/@#")
	unix := redistest.Start(t)
	for _, raw := range []string{tcp.URL(), unix.URL(), "unix://" + unix.Addr() + "?db=3"} {
		dialer, err := ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSource(dialer, "holdfast:url")
		l := NewLine(s)
		c := NewCall(in(2*time.Second), Cmd("CLIENT", "INFO"))
		if err := l.Do(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		info, _ := c.Replies[0].([]byte)
		db := "db=0"
		if strings.HasSuffix(raw, "3") {
			db = "db=3"
		}
		if !strings.Contains(string(info), " name=holdfast:url ") || !strings.Contains(string(info), db) {
			t.Errorf("CLIENT INFO: %s", info)
		}
		l.Close()
		s.Close(time.Second)
	}
}

// Errors of dialling name the address, and never the password.
func TestDialURLFails(t *testing.T) {
	t.Parallel()
	s := redistest.StartTCP(t, "requirepass s3cret")
	plain := redistest.StartTCP(t, "rename-command AUTH SESAME")
	for _, raw := range []string{
		"redis://:wr0ng@" + s.Addr(),
		"redis://me:wr0ng@" + s.Addr(),
		"rediss://:wr0ng@" + s.Addr(),
		"redis://:wr0ng@" + plain.Addr(),
		"redis://:wr0ng@127.0.0.1:1",
		"unix://:wr0ng@/nowhere/redis.sock",
	} {
		dialer, err := ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		source := NewSource(dialer, "n")
		_, err = source.NewPort().Dial(2 * time.Second)
		if err == nil || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("dialling: %v", err)
		}
		source.Close(time.Second)
	}
	dialer, err := ParseURL("redis://h")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dialer.Connect(ctx); err == nil {
		t.Error("a dial under a context that has ended works")
	}
}
