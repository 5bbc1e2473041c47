package lock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/testing/locks"
	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
)

const tlsPassword = "s3cret"

// tlsURL is the environment variable that makes this test binary a process that takes a lock at the
// URL which it holds.
const tlsURL = "HOLDFAST_TLS_URL"

// A tlsServer is a Redis that also listens on a port with TLS, for which it has a certificate of an
// authority of the test's own.
type tlsServer struct {
	*redistest.Server
	port  int
	ca    string // the authority's certificate: a file
	roots *x509.CertPool
}

func startTLS(t *testing.T) *tlsServer {
	t.Helper()
	s := &tlsServer{Server: redistest.Start(t, "requirepass "+tlsPassword, "bind 127.0.0.1")}
	var certificate, key string
	certificate, key, s.ca, s.roots = tlsCertificates(t)
	c := s.Dial(t)
	for _, set := range [][]any{
		{"tls-cert-file", certificate},
		{"tls-key-file", key},
		{"tls-ca-cert-file", s.ca},
		{"tls-auth-clients", "no"},
	} {
		if _, err := c.Do("CONFIG", append([]any{"SET"}, set...)...); err != nil {
			redistest.Skip(t, fmt.Sprintf("this Redis has no TLS built in: %v", err))
		}
	}
	var err error
	for range 5 { // somebody may take a port before Redis has it
		s.port = redistest.FreePort(t)
		if _, err = c.Do("CONFIG", "SET", "tls-port", s.port); err == nil {
			return s
		}
	}
	redistest.Skip(t, fmt.Sprintf("this Redis does not listen with TLS: %v", err))
	return nil
}

// tlsCertificates makes an authority, and a certificate of it for 127.0.0.1.
func tlsCertificates(t *testing.T) (certificate, key, ca string, roots *x509.CertPool) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	year := time.Now().AddDate(1, 0, 0)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "holdfast's tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: year,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authorityKey, authorityDER := tlsSign(t, authority, authority, nil)
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "redis"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: year,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	serverKey, serverDER := tlsSign(t, server, authority, authorityKey)
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(authorityDER)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	return write("redis.crt", "CERTIFICATE", serverDER), write("redis.key", "PRIVATE KEY", keyDER),
		write("ca.crt", "CERTIFICATE", authorityDER), roots
}

// tlsSign makes a key, and a certificate for it that the parent signs; no parent key means that it
// signs itself.
func tlsSign(t *testing.T, c, parent *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}

// url is where the server is, by the name or address of a host.
func (s *tlsServer) url(scheme, host string) string {
	return fmt.Sprintf("%s://:%s@%s:%d/0", scheme, tlsPassword, host, s.port)
}

// pool dials with these roots.
func (s *tlsServer) pool(host string, roots *x509.CertPool) *redis.Pool {
	return &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialURLContext(ctx, s.url("rediss", host),
			redis.DialTLSConfig(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))
	}}
}

// A pool with a TLS configuration of its own: its dialler is used, and everything works over it.
func TestTLSPool(t *testing.T) {
	t.Parallel()
	s := startTLS(t)
	connect := func() *lock.Client {
		c, err := lock.New(s.pool("127.0.0.1", s.roots), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	everything(t, s.Server, connect)
}

// everything has two clients do all that needs Redis; the server is for looking behind it.
func everything(t *testing.T, s *redistest.Server, connect func() *lock.Client) {
	t.Helper()
	holder, waiter := connect(), connect()
	name := redistest.Name(t)
	lease := acquire(t, holder.Mutex(name))
	if _, err := waiter.Mutex(name).TryLock(soon(t)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("TryLock: %v, want ErrHeld", err)
	}
	done := lockLater(t, soon(t), waiter, name)
	blocked(t, s, 1)
	if err := lease.Extend(soon(t), time.Minute); err != nil {
		t.Errorf("Extend: %v", err)
	}
	if o, err := waiter.Owner(soon(t), name); err != nil || o.ID != lease.ID() {
		t.Errorf("Owner: %v, %v", o, err)
	}
	unlock(t, lease)
	r := await(t, "Lock", done)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if r.Lease.Fence() <= lease.Fence() {
		t.Errorf("fencing tokens %d, then %d", lease.Fence(), r.Lease.Fence())
	}
	if _, held, err := holder.Reset(soon(t), name); err != nil || !held {
		t.Errorf("Reset: %v, %v", held, err)
	}
	if err := r.Lease.Unlock(soon(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("Unlock after Reset: %v, want ErrNotHeld", err)
	}
	for subject, f := range check(t, holder) {
		if f.Level == lock.LevelProblem || f.Level == lock.LevelUnknown {
			t.Errorf("%s: %v", subject, f)
		}
	}
}

// What cannot be trusted is told at once, with the reason and without the password.
func TestTLSUntrusted(t *testing.T) {
	t.Parallel()
	s := startTLS(t)
	opened := func(url string) func() *lock.Client {
		return func() *lock.Client { return locks.Open(t, url, nil) }
	}
	for _, test := range []struct {
		name string
		open func() *lock.Client
		want string
	}{
		{"an authority that the system does not know", opened(s.url("rediss", "127.0.0.1")), "x509: "},
		{"another name than the certificate's", func() *lock.Client {
			c, err := lock.New(s.pool("localhost", s.roots), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}, "x509: "},
		{"no TLS where it is expected", opened(s.url("redis", "127.0.0.1")), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for call, err := range locks.AtOnce(t, test.open, tlsPassword) {
				if !strings.Contains(err.Error(), test.want) || errors.Is(err, lock.ErrUnknown) {
					t.Errorf("%s: %v: does not say %q", call, err, test.want)
				}
			}
			if _, err := test.open().Check(soon(t)); err == nil ||
				!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), tlsPassword) {
				t.Errorf("Check: %v: does not say %q, or too much", err, test.want)
			}
		})
	}
}

// Open with rediss:// goes by the authorities that the system trusts. A process of its own is told to
// trust the test's, by SSL_CERT_FILE; without that it must not.
func TestTLSOpen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		redistest.Skip(t, "this system does not take its authorities from SSL_CERT_FILE")
	}
	s := startTLS(t)
	for _, test := range []struct{ file, want string }{
		{s.ca, "locked"},
		{filepath.Join(t.TempDir(), "none"), "x509: "},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestTLSProcess$", "-test.v")
		cmd.Env = append(os.Environ(), tlsURL+"="+s.url("rediss", "127.0.0.1"), "SSL_CERT_FILE="+test.file)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "\nOPEN "+test.want) {
			t.Errorf("with SSL_CERT_FILE=%s: %v, want %q:\n%s", test.file, err, test.want, out)
		}
	}
}

// TestTLSProcess is the other process of TestTLSOpen.
func TestTLSProcess(t *testing.T) {
	url := os.Getenv(tlsURL)
	if url == "" {
		return // not a test of its own
	}
	c := locks.Open(t, url, nil)
	err := c.Do(soon(t), "job", func(context.Context) error {
		fmt.Println("\nOPEN locked")
		return nil
	})
	if err != nil {
		fmt.Println("\nOPEN", err.Error()[strings.Index(err.Error(), "x509: "):])
	}
}
