package chaos

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// close closes all clients, after which nothing must be left of them.
func (r *run) close(idle int) {
	var all sync.WaitGroup
	for _, s := range r.seats {
		all.Go(func() { r.closed(s.current()) })
	}
	all.Wait()
	left := ""
	for end := time.Now().Add(look + operationLimit + slack); ; <-time.After(5 * time.Millisecond) {
		if left = r.left(idle); left == "" || time.Now().After(end) {
			break
		}
	}
	if left != "" {
		r.seen("after all clients were closed: %s", left)
	}
}

// left says what is left of the clients.
func (r *run) left(idle int) string {
	list, _ := redis.String(r.command("CLIENT", "LIST"))
	if n := len(connections(list)); n > 0 {
		return fmt.Sprintf("%d connections in CLIENT LIST", n)
	}
	for _, s := range r.seats {
		if n := s.proxy.Open(""); n > 0 {
			return fmt.Sprintf("%d connections to the proxy of client %d", n, s.index)
		}
	}
	if n := runtime.NumGoroutine(); n > idle {
		return fmt.Sprintf("%d goroutines, %d before:\n%s", n, idle, stacks())
	}
	return ""
}

// connections returns the ids of the library's connections.
func connections(list string) (ids []string) {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		for _, f := range fields {
			if strings.HasPrefix(f, "name=holdfast:") {
				ids = append(ids, strings.TrimPrefix(fields[0], "id="))
			}
		}
	}
	return ids
}

// stacks returns what every goroutine does.
func stacks() []byte {
	text := make([]byte, 1<<20)
	return text[:runtime.Stack(text, true)]
}
