package chaos

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// restFor is after how long only that of a client is left what stays while it does nothing: a connection
// for waiting is given up after 5 s.
const restFor = 7 * time.Second

// heapSlack is by how much the heap may differ between two moments at which the same is there.
const heapSlack = 8 << 20

// Figures are what a process, and Redis, spend.
type Figures struct {
	Goroutines  int
	Files       int    // that are open; 0 where the system does not say
	Heap        uint64 // bytes that are reachable
	Connections int    // to Redis, of the library
}

func (f Figures) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %.1f MB of heap, %d connections to Redis",
		f.Goroutines, f.Files, float64(f.Heap)/(1<<20), f.Connections)
}

// Beyond says in what f exceeds what it may be, "" if in nothing.
func (f Figures) Beyond(most Figures) string {
	var more []string
	for _, c := range []struct {
		what      string
		now, most int
	}{
		{"goroutines", f.Goroutines, most.Goroutines},
		{"open files", f.Files, most.Files},
		{"bytes of heap", int(f.Heap), int(most.Heap)},
		{"connections in CLIENT LIST", f.Connections, most.Connections},
	} {
		if c.now > c.most {
			more = append(more, fmt.Sprintf("%d %s, want at most %d", c.now, c.what, c.most))
		}
	}
	return strings.Join(more, "; ")
}

func (r *run) figures() Figures {
	runtime.GC()
	runtime.GC() // what the first one found unreachable may have been kept by a finalizer
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	files, _ := os.ReadDir("/proc/self/fd") // one of them is the directory's
	list, _ := redis.String(r.command("CLIENT", "LIST"))
	return Figures{runtime.NumGoroutine(), len(files), memory.HeapAlloc, len(connections(list, ""))}
}

// close closes all clients, after which nothing must be left of them.
func (r *run) close(idle Figures) {
	var all sync.WaitGroup
	for _, s := range r.seats {
		all.Go(func() { r.closed(s.current()) })
	}
	all.Wait()
	left := ""
	if !r.until(look+operationLimit+slack, func() bool {
		left = r.left(idle)
		return left == ""
	}) {
		r.seen("after all clients were closed: %s", left)
	}
	var dropped, leaked int64
	for _, s := range r.seats {
		dropped, leaked = dropped+s.dropped.Load(), leaked+s.leaked.Load()
	}
	if leaked > dropped || leaked == 0 && dropped > 10 { // some end otherwise before the collector comes
		r.seen("%d leases were dropped, Hooks.Leaked told of %d", dropped, leaked)
	}
}

// left says what is left of the clients.
func (r *run) left(idle Figures) string {
	for _, s := range append(r.seats, r.puppetSeats()...) {
		if n := s.proxy.Open(""); n > 0 {
			return fmt.Sprintf("%d connections to the proxy of client %d", n, s.index)
		}
	}
	idle.Heap += heapSlack
	more := r.figures().Beyond(idle)
	if strings.Contains(more, "goroutines") {
		more += fmt.Sprintf("\n%s", stacks())
	}
	return more
}

func (r *run) puppetSeats() (seats []*seat) {
	for _, p := range r.puppets {
		seats = append(seats, p.seat)
	}
	return seats
}

// connections returns the ids of the library's connections, by those of clients that begin so.
func connections(list, labels string) (ids []string) {
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		for _, f := range fields {
			if strings.HasPrefix(f, "name=holdfast:"+labels) {
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
