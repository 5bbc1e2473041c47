package redisconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Many goroutines, all kinds of contexts and deadlines, a connection that breaks, and Close in the
// middle, for the race detector: every call ends, gets its own reply, and was not sent if it says
// so.
func TestLineUnderLoad(t *testing.T) {
	for seed := range 10 {
		bubbleRun(t, fmt.Sprint(seed), func(t *testing.T) {
			f := newFake()
			l := newTestLine(t, f)
			var calls atomic.Int64
			f.setAnswer(func(cmd string) string {
				switch n := calls.Add(1); {
				case n%97 == 0:
					return ""
				case n%31 == 0:
					time.Sleep(3 * ms)
				}
				return "+" + cmd + "\r\n"
			})
			var mu sync.Mutex
			unsent := make(map[string]bool)
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					for j := range 50 {
						id := i*1000 + j
						err := oneCall(t, l, id, time.Duration(1+(i*j+seed)%40)*ms)
						var e *Error
						if errors.As(err, &e) && !e.Sent {
							mu.Lock()
							unsent[number(id)] = true
							mu.Unlock()
						}
					}
				})
			}
			wg.Go(func() {
				time.Sleep(time.Duration(seed) * 200 * ms)
				l.Close()
			})
			wg.Wait()
			for _, cmd := range f.commands() {
				if unsent[cmd] {
					t.Errorf("%s was sent, and reported not to be", cmd)
				}
			}
		})
	}
}

func oneCall(t *testing.T, l *Line, id int, patience time.Duration) error {
	c := echo(id, 20*ms)
	ctx := context.Background()
	switch id % 3 {
	case 1:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	case 2:
		c.Deadline = in(patience)
	}
	begin := time.Now()
	err := l.Do(ctx, c)
	if err == nil && c.Replies[0] != number(id) {
		t.Errorf("reply %v, want %s", c.Replies[0], number(id))
	}
	if took := time.Since(begin); took > 41*ms {
		t.Errorf("a call with a limit took %v", took)
	}
	return err
}
