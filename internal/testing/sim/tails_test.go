package sim

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/lock"
)

// A cut of some seconds leaves a tail: what was written on connections that were closed meanwhile, and
// that a kernel goes on sending. A tail says what keeps it from the store.
type tail int

const (
	noTail  tail = iota
	kills        // CLIENT KILL, by the connection that comes next
	resets       // connections are reset where calls are in flight; CLIENT KILL is refused
	lingers      // nothing: commands arrive up to 108 s after the close
)

func (t tail) String() string { return [...]string{"none", "kills", "resets", "lingers"}[t] }

const (
	// longestTail is how long after a close a command may arrive. A kernel gives up after about 100 s.
	longestTail = 108 * time.Second
	// longestAway is the longest time from one clean-up of what may arrive to the next one.
	longestAway = 54 * time.Second
)

// tails cuts clients off for so long that their calls are given up, and has what they wrote arrive late.
func (m *maker) tails() {
	own := m.own(0x5156)
	p := m.plan
	p.sessions = own.one(2)
	if !own.one(8) {
		return
	}
	p.sessions, p.late, p.tail = true, true, kills+tail(own.IntN(int(lingers)))
	for range 1 + own.IntN(2) {
		client := own.IntN(len(p.clients))
		if own.one(3) {
			client = everybody
		}
		cut := window{client: client, from: own.upTo(6 * time.Second), what: pause, tails: true}
		cut.to = cut.from + 3*time.Second + time.Duration(own.Float64()*float64(12*time.Second))
		p.windows = append(p.windows, cut)
		p.end = max(p.end, cut.to+longestTail+14*time.Second)
	}
	for _, c := range p.clients { // what arrives late shall be seen: it must stay for long enough
		for _, turns := range c.actors {
			for i := range turns {
				t := &turns[i]
				if o := &t.opts; o.TTL != lock.NoExpiry && !own.one(3) {
					o.TTL, o.MaxHold = 10*time.Minute, 0
				}
				if own.one(8) {
					t.take = block
				}
				if own.one(4) {
					t.limit = 10*time.Millisecond + own.upTo(2*time.Second)
				}
			}
		}
	}
}

// tailOf says when what is on its way arrives, of a connection that its client closes in a cut.
func (w *world) tailOf(e *end) (at time.Time, ok bool) {
	if e.out != e.conn.up || e.reset {
		return at, false
	}
	for i := range w.plan.windows {
		win := &w.plan.windows[i]
		if !win.tails || !win.hits(e.conn.client, w.elapsed(), pause) {
			continue
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		healed := w.began.Add(win.to)
		if w.jitter[e.conn.client].IntN(2) == 0 { // as a kernel does, whose intervals double
			since := w.elapsed() - win.from
			return healed.Add(time.Duration(w.jitter[e.conn.client].Float64() * float64(win.to-win.from+since))), true
		}
		late := time.Duration(w.jitter[e.conn.client].Int64N(int64(longestTail)))
		if at := time.Now().Add(late); at.After(healed) {
			return at, true
		}
		return healed, true
	}
	return at, false
}

// SetLinger is what a net.TCPConn has, where the plan has connections reset.
func (e *end) SetLinger(sec int) error {
	e.reset = sec == 0 && e.conn.world.plan.tail == resets
	return nil
}

// sessions are how the store knows connections: as Redis does, and miniredis does not. Its fields are
// guarded by world.mu.
type sessions struct {
	run   int
	last  int64
	byID  map[int64]*conn // of this run, also those that their clients have closed
	peers map[*server.Peer]*conn
}

func newSessions() sessions {
	return sessions{byID: make(map[int64]*conn), peers: make(map[*server.Peer]*conn)}
}

// hello is the command by which the store learns whose peer is whose connection. No client sends it.
const hello = "SIMHELLO"

// enter takes note of a new connection, and tells the store.
func (w *world) enter(c *conn) {
	w.mu.Lock()
	s := &w.sessions
	s.last++
	c.id = s.last
	s.byID[c.id] = c
	w.conns[c] = true
	w.mu.Unlock()
	id := strconv.FormatInt(c.id, 10)
	command := fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(hello), hello, len(id), id)
	_ = c.up.push([]byte(command), time.Now(), false) // nothing is closed yet
}

// newRun begins a new run of the store: ids begin anew, and what was sent to the old one is lost.
func (w *world) newRun() {
	w.mu.Lock()
	s := &w.sessions
	old := s.byID
	s.run, s.last, s.byID = s.run+1, 0, make(map[int64]*conn)
	w.mu.Unlock()
	for _, c := range old {
		c.drop()
	}
}

// drop ends a connection from the store's side: nothing of what is on its way is executed.
func (c *conn) drop() {
	c.up.discard(time.Now())
	c.down.finish(time.Now(), false)
}

// discard has the reader get EOF now, whatever is on its way.
func (s *stream) discard(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pieces, s.ended = nil, now
	s.tell()
}

// session answers what miniredis does not know. It reports whether it has answered.
func (w *world) session(peer *server.Peer, cmd string, args []string) bool {
	switch {
	case cmd == hello:
		id, _ := strconv.ParseInt(args[0], 10, 64)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sessions.peers[peer] = w.sessions.byID[id]
		return true
	case !w.plan.sessions || len(args) == 0:
		return false
	case cmd == "INFO" && strings.EqualFold(args[0], "server"):
		w.mu.Lock()
		run := w.sessions.run
		w.mu.Unlock()
		peer.WriteBulk(fmt.Sprintf("# Server\r\nrun_id:%040d\r\n", run))
		return true
	case cmd == "CLIENT" && strings.EqualFold(args[0], "id"):
		w.mu.Lock()
		c := w.sessions.peers[peer]
		w.mu.Unlock()
		if c == nil { // of a run that has ended
			return false
		}
		peer.WriteInt(int(c.id))
		return true
	case cmd == "CLIENT" && len(args) == 3 && strings.EqualFold(args[0], "kill"):
		w.kill(peer, args[2])
		return true
	}
	return false
}

// kill is CLIENT KILL ID.
func (w *world) kill(peer *server.Peer, text string) {
	if w.plan.tail > kills {
		peer.WriteError("NOPERM this user has no permissions to run the 'client|kill' command")
		return
	}
	id, _ := strconv.ParseInt(text, 10, 64)
	w.mu.Lock()
	c := w.sessions.byID[id]
	delete(w.sessions.byID, id)
	w.mu.Unlock()
	if c == nil {
		peer.WriteInt(0)
		return
	}
	c.drop()
	peer.WriteInt(1)
}

// block keeps everybody from a lock for as long as the program runs, and ends that at once if it is told
// that it worked.
func (a *actor) block(ctx context.Context, name string, limit time.Duration) error {
	w := a.world
	w.countBlock(name, 1)
	began := w.elapsed()
	err := a.client.Block(ctx, name, 10*time.Minute)
	w.within(a.name+": Block", began, min(2*opLimit+time.Millisecond, limit+50*time.Millisecond))
	if err != nil {
		w.countBlock(name, -1)
		return err
	}
	o := w.takeover(name, nobody)
	if _, _, err = a.client.Reset(context.Background(), name); err == nil {
		w.countBlock(name, -1)
	}
	o.over(w, err == nil)
	return err
}

func (w *world) countBlock(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocks["lock:"+name] += n
}

// lookAtTheEnd looks for what should be gone by then, whatever stands against it.
func (w *world) lookAtTheEnd() {
	if w.plan.tail == noTail {
		return
	}
	for _, name := range []string{"n0", "n1", poolPlace + "/m1", poolPlace + "/m2"} {
		key := "lock:" + name
		id, _ := w.redis.Get(key)
		w.mu.Lock()
		if _, seen := w.ghosts[id]; seen {
			w.ghosts[id] = math.MinInt64 / 2 // for ever: it is too long now
		}
		w.mu.Unlock()
		w.lookForGhost(key)
	}
}
