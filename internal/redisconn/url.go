package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// An address is what a URL says about a server.
type address struct {
	network, addr  string
	tls            bool
	user, password string
	db             int
}

// ParseURL returns how to dial the server that a URL names:
//
//	redis://[[user]:password@]host[:port][/db]
//	rediss://…                                     the same over TLS
//	unix://[[user]:password@]/path/of/socket[?db=n]
//
// No error repeats any part of the URL: a password with an unescaped special character can end up
// in every part of it.
func ParseURL(raw string) (Dialer, error) {
	a, err := parseAddress(raw)
	if err != nil {
		return Dialer{}, err
	}
	var config *tls.Config
	if a.tls {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	open := redis.DialContextFunc(NetDial(config))
	dial := func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, a.network, a.addr, open)
	}
	return Dialer{Dial: dial, Greeting: a.greeting(), Address: whereBefore + a.addr, TLS: a.tls}, nil
}

// greeting returns what a connection needs before it can be used.
func (a *address) greeting() []Command {
	var cmds []Command
	switch {
	case a.user != "":
		cmds = append(cmds, Command{"AUTH", []any{a.user, a.password}, isOK})
	case a.password != "":
		cmds = append(cmds, Command{"AUTH", []any{a.password}, isOK})
	}
	if a.db != 0 {
		cmds = append(cmds, Command{"SELECT", []any{a.db}, isOK})
	}
	return cmds
}

// PasswordInClear reports whether a URL that [ParseURL] takes has a password that would cross a
// network without TLS: that is, to any host but this one, as far as the host's own text tells.
func PasswordInClear(raw string) bool {
	a, err := parseAddress(raw)
	if err != nil || a.password == "" || a.tls || a.network == "unix" {
		return false
	}
	host, _, err := net.SplitHostPort(a.addr)
	return err == nil && !loopback(host)
}

// loopback reports whether a host's name or address says that it is this machine. Nothing is looked
// up: who answers may lie, and a name that means this machine today may mean another one tomorrow.
func loopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func parseAddress(raw string) (*address, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the URL cannot be parsed: " + howToWrite)
	}
	if strings.Contains(u.EscapedPath()+u.RawQuery+u.Opaque, "@") || strings.Contains(raw, "#") {
		return nil, errors.New("the URL has an '@' or a '#' behind the host: " +
			"percent-encode the password's special characters (%40 for @, %2F for /, %23 for #)")
	}
	a := &address{}
	if err := a.credentials(u.User); err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "redis", "rediss":
		a.tls = u.Scheme == "rediss"
		return a, a.tcp(u)
	case "unix":
		return a, a.unix(u)
	}
	return nil, errors.New("the URL's scheme is not known: use redis://, rediss:// or unix://")
}

func (a *address) credentials(user *url.Userinfo) error {
	if user == nil {
		return nil
	}
	a.user = user.Username()
	a.password, _ = user.Password()
	if a.password == "" {
		return errors.New("the URL names a user and no password: " +
			"write redis://user:password@host, or redis://:password@host for the default user")
	}
	return nil
}

func (a *address) tcp(u *url.URL) error {
	if u.Opaque != "" || u.Hostname() == "" {
		return errors.New("the URL names no host: write redis://host:port/db")
	}
	if u.RawQuery != "" || u.ForceQuery {
		return errors.New("the URL has a parameter: redis:// and rediss:// take none" +
			" (the database is the path: redis://host:port/db)")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("the URL's port is not a number from 1 to 65535")
	}
	a.network, a.addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	return a.database(strings.TrimPrefix(u.Path, "/"))
}

func (a *address) unix(u *url.URL) error {
	if u.Host != "" || u.Opaque != "" || len(u.Path) < 2 {
		return errors.New("the URL names no socket: write unix:///path/of/socket?db=n," +
			" with three slashes")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("the URL's parameters cannot be parsed: unix:// takes db=n and nothing else")
	}
	for key, values := range query {
		if key != "db" || len(values) != 1 {
			return errors.New("the URL has a parameter that is not known: unix:// takes db=n, once")
		}
	}
	a.network, a.addr = "unix", u.Path
	return a.database(query.Get("db"))
}

func (a *address) database(text string) error {
	if text == "" {
		return nil
	}
	db, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("the URL's database is not a number: write redis://host:port/db" +
			" or unix:///path?db=n with db 0 or greater")
	}
	a.db = int(db)
	return nil
}
