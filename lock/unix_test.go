package lock_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

// Over a unix socket everything works, with a password, special characters in it included, and in
// the database that the URL names.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	const password = "p@ss/w:rd#1?%"
	s := redistest.Start(t, "appendonly yes")
	s.Do(t, "ACL", "SETUSER", "job", "reset", "on", ">"+password, "~*", "&*", "+@all")
	for _, test := range []struct{ name, user, query, keys string }{
		{"plain", "", "", "db0"},
		{"with a user, in another database", "job", "db=3", "db3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := url.URL{Scheme: "unix", Path: s.Addr(), RawQuery: test.query}
			if test.user != "" {
				u.User = url.UserPassword(test.user, password)
			}
			s.Do(t, "FLUSHALL")
			everything(t, s, func() *lock.Client { return locks.Open(t, u.String(), nil) })
			info, _ := s.Do(t, "INFO", "keyspace").([]byte) // the fences are there still
			if !strings.Contains(string(info), test.keys+":") || strings.Count(string(info), "keys=") != 1 {
				t.Errorf("keys are in another database than %s: %s", test.keys, info)
			}
		})
	}
}

// A socket that is not there, and a wrong password, are told at once and name nothing secret.
func TestUnixSocketRefused(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "requirepass right")
	for want, path := range map[string]string{
		"no such file": s.Addr() + ".gone",
		"WRONGPASS":    s.Addr(),
	} {
		open := func() *lock.Client { return locks.Open(t, "unix://:wr0ng@"+path, nil) }
		for call, err := range locks.AtOnce(t, open, "wr0ng") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: does not say %s", call, err, want)
			}
		}
	}
}
