package redistest

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisproc"
)

// Sentinels are processes that watch a master and put a replica in its place when it is gone. Each
// takes half a second without an answer for that.
type Sentinels struct {
	servers []*Server
	name    string // of what they watch
}

// StartSentinels runs n Sentinels for a master that [StartTCP] has started, until the end of the test.
// It returns when all of them know each other and the given number of replicas, and these have the
// master's data. The test is skipped where there is no redis-sentinel.
func StartSentinels(t testing.TB, n int, master *Server, replicas ...*Server) *Sentinels {
	t.Helper()
	bin, err := exec.LookPath("redis-sentinel")
	if err != nil {
		Skip(t, "no Sentinel: "+err.Error())
	}
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		Skip(t, "Sentinels need a master on a port of its own: "+err.Error())
	}
	for _, replica := range replicas {
		replica.Do(t, "REPLICAOF", host, port)
	}
	Until(t, "the replicas have the data", func() bool {
		info, _ := redis.String(master.Do(t, "INFO", "replication"), nil)
		return strings.Count(info, "state=online") == len(replicas)
	})
	s := &Sentinels{name: "holdfast"}
	lines := []string{
		fmt.Sprintf("sentinel monitor %s %s %s %d", s.name, host, port, n/2+1),
		fmt.Sprintf("sentinel down-after-milliseconds %s 500", s.name),
		fmt.Sprintf("sentinel failover-timeout %s 2000", s.name),
	}
	for range n {
		s.servers = append(s.servers, started(t, func() (*Server, error) {
			return prepared(redisproc.Config{Program: bin, Network: "tcp", Lines: lines}, "")
		}))
	}
	for _, one := range s.servers {
		Until(t, "the Sentinels know each other and the replicas", func() bool {
			info, err := redis.StringMap(one.do("SENTINEL", "MASTER", s.name))
			return err == nil && info["num-other-sentinels"] == fmt.Sprint(n-1) &&
				info["num-slaves"] == fmt.Sprint(len(replicas)) && info["flags"] == "master"
		})
	}
	return s
}

// Master asks the Sentinels, as clients do, where the master is.
func (s *Sentinels) Master() (addr string, err error) {
	for _, one := range s.servers {
		found, e := redis.Strings(one.do("SENTINEL", "get-master-addr-by-name", s.name))
		if e == nil && len(found) == 2 {
			return net.JoinHostPort(found[0], found[1]), nil
		}
		err = errors.Join(err, e)
	}
	return "", fmt.Errorf("no Sentinel knows the master: %w", err)
}

// Dial returns a connection to the master that the Sentinels name, and that says so itself: for a
// little while after a failover they can name the old one.
func (s *Sentinels) Dial(options ...redis.DialOption) (redis.Conn, error) {
	addr, err := s.Master()
	if err != nil {
		return nil, err
	}
	options = append([]redis.DialOption{redis.DialConnectTimeout(ioLimit)}, options...)
	c, err := redis.Dial("tcp", addr, options...)
	if err != nil {
		return nil, err
	}
	role, err := redis.Values(c.Do("ROLE"))
	if err == nil && len(role) > 0 {
		if kind, _ := redis.String(role[0], nil); kind == "master" {
			return c, nil
		}
		err = fmt.Errorf("%s is not the master", addr)
	}
	return nil, errors.Join(err, c.Close())
}
