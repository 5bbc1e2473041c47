package redisconn

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// add puts a call into the queue.
func add(q *queue, c *Call) (drive bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.addLocked(c)
}

// One drives at a time, from the first call until none is left.
func TestWhoDrives(t *testing.T) {
	t.Parallel()
	var q queue
	for i := range 2 {
		if drive := add(&q, echo(i, time.Minute)); drive != (i == 0) {
			t.Errorf("whoever adds call %d drives: %v", i, drive)
		}
	}
	if more, closed := q.rest(); !more || closed {
		t.Errorf("more %v, closed %v, with two calls in the queue", more, closed)
	}
	taken, batch := q.take(0)
	if len(batch) != 2 {
		t.Errorf("%d calls are taken, want 2", len(batch))
	}
	q.recycle(taken)
	if more, _ := q.rest(); more {
		t.Error("there is more when all was taken")
	}
	if !add(&q, echo(2, time.Minute)) {
		t.Error("nobody drives when the drive was given up")
	}
}

// Either the caller or the driver decides whether a call is written, and the other one is told.
func TestAbandonOrBegin(t *testing.T) {
	t.Parallel()
	var q queue
	left, stays := echo(0, time.Minute), echo(1, time.Minute)
	add(&q, left)
	add(&q, stays)
	if !q.abandon(left) {
		t.Error("a call that waits cannot be abandoned")
	}
	if _, batch := q.take(0); len(batch) != 1 || batch[0] != stays {
		t.Errorf("taken %v, want the call that was not abandoned", batch)
	}
	if q.abandon(stays) {
		t.Error("a call that was taken can be abandoned")
	}
}

// Calls are given up in the order of the queue, whatever their deadlines.
func TestOrderOfGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		long, short, longer := echo(0, 2*time.Second), echo(1, time.Second), echo(2, 3*time.Second)
		for _, c := range []*Call{long, short, longer} {
			add(&q, c)
		}
		if short.by != long.Deadline || longer.by != longer.Deadline {
			t.Errorf("given up at %v and %v", short.by, longer.by)
		}
		time.Sleep(2 * time.Second)
		q.fail(errDial, true)
		if !errors.Is(long.err, errDial) || !errors.Is(short.err, errDial) || longer.err != nil {
			t.Errorf("errors %v, %v, %v, want the first two", long.err, short.err, longer.err)
		}
		if until, ok := q.first(); !ok || until != longer.Deadline {
			t.Errorf("the next one is given up at %v, %v", until, ok)
		}
	})
}
