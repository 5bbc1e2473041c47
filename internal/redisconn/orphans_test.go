package redisconn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newFakeSource returns a source that dials the fake.
func newFakeSource(f *fake) *Source { return NewSource(Dialer{Dial: f.dial}, "holdfast:test") }

// silence lets nothing be answered but the commands of greetings.
func silence(cmd string) string {
	if strings.HasPrefix(cmd, "CLIENT") || cmd == "INFO server" {
		return "+OK\r\n"
	}
	return ""
}

// The connection that replaces one with a call in flight first ends that one in the server.
func TestPredecessorIsKilled(t *testing.T) {
	contexts(t, func(t *testing.T, ctx context.Context) {
		f := newFake()
		f.run = "a"
		l := newTestLine(t, f)
		f.setAnswer(silence)
		wantErr(t, l.Do(ctx, echo(1, time.Second)), ErrTimeout, true)
		if got := f.killed(); got != nil {
			t.Errorf("killed %q at first", got)
		}
		f.setAnswer(newFake().answer)
		if err := l.Do(ctx, echo(2, time.Second)); err != nil {
			t.Fatal(err)
		}
		if got := f.killed(); !slices.Equal(got, []string{"CLIENT KILL ID 1"}) {
			t.Errorf("killed %q, want the first connection", got)
		}
		cut(l) // with nothing in flight
		if err := l.Do(ctx, echo(3, time.Second)); err != nil {
			t.Fatal(err)
		}
		if got := f.killed(); got != nil {
			t.Errorf("killed %q, where nothing was in flight", got)
		}
	})
}

// What is sent on the new connection is sent when the kill has been answered.
func TestKillIsAnsweredFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		f.run = "a"
		l := newTestLine(t, f)
		f.setAnswer(silence)
		_ = l.Do(t.Context(), echo(1, time.Second))
		gate := make(chan struct{})
		f.setAnswer(func(cmd string) string {
			if strings.HasPrefix(cmd, "CLIENT KILL") {
				<-gate
			}
			return "+OK\r\n"
		})
		next := do(t.Context(), l, echo(2, time.Second))
		synctest.Wait()
		if got := f.commands(); len(got) != 1 {
			t.Errorf("%q were sent before the kill was answered", got)
		}
		close(gate)
		if r := <-next; r.err != nil {
			t.Error(r.err)
		}
	})
}

// Whom a new connection kills, by what the server says and does.
func TestOrphans(t *testing.T) {
	for name, test := range map[string]struct {
		kill  string      // the answer to CLIENT KILL
		run   string      // of the server of the new connections
		ids   map[int]int // of connections
		first int         // kills by the second connection
		later int         // kills by the third
	}{
		"answered":         {kill: ":1", run: "a", first: 1},
		"not there":        {kill: ":0", run: "a", first: 1},
		"no such client":   {kill: "-ERR No such client ID", run: "a", first: 1},
		"another run":      {kill: ":1", run: "b"},
		"no run_id":        {kill: ":1", run: ""},
		"refused":          {kill: "-NOPERM this user has no permissions to run the 'client|kill' command", run: "a", first: 1},
		"not known":        {kill: "-ERR unknown subcommand 'KILL'", run: "a", first: 1},
		"busy":             {kill: "-BUSY Redis is busy running a script.", run: "a", first: 1, later: 1},
		"its own id":       {kill: ":1", run: "a", ids: map[int]int{2: 1}},
		"shared by others": {kill: ":1", run: "a", ids: map[int]int{0: 7, 2: 9, 3: 9}},
	} {
		bubbleRun(t, name, func(t *testing.T) {
			f := newFake()
			f.run, f.ids = "a", test.ids
			s := newFakeSource(f)
			f.setAnswer(func(cmd string) string {
				if strings.HasPrefix(cmd, "CLIENT KILL") {
					return test.kill + "\r\n"
				}
				return silence(cmd)
			})
			first := dialFake(t, s)
			if name == "shared by others" {
				dialFake(t, s)
				dialFake(t, s)
			} else {
				f.setRun(test.run)
			}
			if _, err := first.Do(time.Second, Cmd("BLPOP", "k")); err == nil {
				t.Error("it was answered")
			}
			second := dialFake(t, s)
			if got := f.killed(); len(got) != test.first {
				t.Errorf("killed %q, want %d", got, test.first)
			}
			second.Close()
			dialFake(t, s)
			if got := f.killed(); len(got) != test.later {
				t.Errorf("killed %q later, want %d", got, test.later)
			}
			s.Close(time.Second)
		})
	}
}

// dialFake dials and closes the connection at the end of the test.
func dialFake(t *testing.T, s *Source) *Link {
	t.Helper()
	link, err := s.NewPort().Dial(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	return link
}

// A connection was given up for which no other one comes: it is ended all the same, soon.
func TestOrphanWithoutSuccessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		f.run = "a"
		s := newFakeSource(f)
		f.setAnswer(silence)
		link := dialFake(t, s)
		_, _ = link.Do(time.Second, Cmd("BLPOP", "k"))
		f.setDialer(func(context.Context) error { return errDial }) // it is tried until it works
		time.Sleep(5 * time.Second)
		f.setDialer(func(context.Context) error { return nil })
		time.Sleep(3 * time.Second)
		if got := f.killed(); !slices.Equal(got, []string{"CLIENT KILL ID 1"}) {
			t.Errorf("killed %q, want the first connection", got)
		}
		before, open, _ := f.counts()
		time.Sleep(time.Hour)
		if after, _, _ := f.counts(); after != before || open != 0 {
			t.Errorf("%d dials more, %d open: want none when the orphan is gone", after-before, open)
		}
		s.Close(time.Second)
	})
}

// Two servers that take turns behind one address: each connection is killed by one to its own server.
func TestOrphanOfAnotherRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		f.run = "a"
		s := newFakeSource(f)
		f.setAnswer(silence)
		link := dialFake(t, s)
		_, _ = link.Do(time.Second, Cmd("BLPOP", "k"))
		f.setRun("b")
		dialFake(t, s)
		before, _, _ := f.counts()
		time.Sleep(time.Hour)
		if after, _, _ := f.counts(); after != before {
			t.Errorf("%d dials for an orphan of another run", after-before)
		}
		if got := f.killed(); len(got) != 0 {
			t.Errorf("killed %q of another run", got)
		}
		f.setRun("a")
		dialFake(t, s)
		if got := f.killed(); !slices.Equal(got, []string{"CLIENT KILL ID 1"}) {
			t.Errorf("killed %q, want the first connection", got)
		}
		s.Close(time.Second)
	})
}

// Where the server cannot be reached for long, nothing is kept up for orphans, and their number is
// bounded.
func TestOrphansAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake()
		f.run = "a"
		s := newFakeSource(f)
		f.setAnswer(silence)
		for range maxOrphans + 10 {
			link := dialFake(t, s)
			s.orphans.mu.Lock()
			link.inFlight.Store(true)
			s.orphans.reaping = true // and no reaper
			s.orphans.mu.Unlock()
			f.setRun("") // so that the next one does not kill them
			link.Close()
			f.setRun("a")
		}
		if n := len(s.orphans.list); n > maxOrphans {
			t.Errorf("%d orphans are kept, want at most %d", n, maxOrphans)
		}
		s.Close(time.Second)
	})
	bubbleRun(t, "no answer", func(t *testing.T) {
		f := newFake()
		f.run = "a"
		s := newFakeSource(f)
		f.setAnswer(silence)
		link := dialFake(t, s)
		_, _ = link.Do(time.Second, Cmd("BLPOP", "k"))
		f.setDialer(func(context.Context) error { return errDial })
		time.Sleep(2 * orphanLife)
		before, _, _ := f.counts()
		time.Sleep(time.Hour)
		if after, _, _ := f.counts(); after != before {
			t.Errorf("%d dials for an orphan of an hour ago", after-before)
		}
		f.setDialer(func(context.Context) error { return nil })
		dialFake(t, s)
		if got := f.killed(); len(got) != 1 {
			t.Errorf("killed %q, want the orphan: whoever comes ends it", got)
		}
		s.Close(time.Second)
	})
}

func TestSessionOf(t *testing.T) {
	t.Parallel()
	info := []byte("# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\ntcp_port:6379\r\n")
	for _, test := range []struct {
		id, info any
		want     session
	}{
		{int64(7), info, session{7, "abc"}},
		{int64(7), []byte("run_id:abc"), session{7, "abc"}},
		{int64(7), []byte("redis_version:7"), session{id: 7}},
		{int64(7), "OK", session{id: 7}},
		{[]byte("7"), info, session{run: "abc"}},
		{fmt.Errorf("no"), fmt.Errorf("no"), session{}},
		{nil, nil, session{}},
	} {
		if got := sessionOf(test.id, test.info); got != test.want {
			t.Errorf("%v, %s: %v, want %v", test.id, test.info, got, test.want)
		}
	}
}
