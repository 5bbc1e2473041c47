package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/anyredis"
	"github.com/holdfast-go/holdfast/internal/child"
)

// grace is how long workers may take to end by themselves.
const grace = 5 * time.Second

// A crew is the demo's worker processes, and the pipe on which they report. It is for one
// goroutine. The goroutines of its own speak to that one by channels.
type crew struct {
	redis  *anyredis.Redis
	ttl    time.Duration
	stderr io.Writer

	pipe    *os.File // its write end, which the workers inherit
	events  chan event
	exits   chan *member
	members []*member
}

// A member is one worker process.
type member struct {
	name, label string
	process     *child.Process
	stdin       io.WriteCloser
	orders      int  // how many it got
	killed      bool // by us
}

func newCrew(redis *anyredis.Redis, ttl time.Duration, stderr io.Writer) (*crew, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &crew{
		redis: redis, ttl: ttl, stderr: stderr, pipe: w,
		events: make(chan event, 256), exits: make(chan *member, 64),
	}
	// Owned by c. It ends when nobody can write to the pipe any more: all workers have ended, and
	// end has closed our own write end. It closes events then, and end waits for that.
	go func() {
		defer close(c.events)
		defer r.Close()
		for d := json.NewDecoder(r); ; {
			var e event
			if d.Decode(&e) != nil {
				return
			}
			e.read = time.Now()
			c.events <- e
		}
	}()
	return c, nil
}

// start starts a process. Without a label its locks have the default one, hostname:pid.
func (c *crew) start(name, label string) (*member, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{
		"demo-worker",
		"-name", name, "-prefix", c.redis.Prefix, "-ttl", c.ttl.String(),
	}
	if label != "" {
		args = append(args, "-label", label)
	}
	cmd := osexec.Command(self, args...)
	cmd.Env = append(os.Environ(), anyredis.Variable+"="+c.redis.URL)
	cmd.Stdout, cmd.Stderr = c.pipe, c.stderr
	cmd.WaitDelay = grace
	m := &member{name: name, label: label}
	if m.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if m.process, err = child.Start(cmd); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	c.members = append(c.members, m)
	// Owned by c. It ends with the process, for which end waits. exits has room for every process,
	// so it never blocks there, though nobody may read them any more.
	go func() {
		<-m.process.Done()
		c.exits <- m
	}()
	return m, nil
}

// order tells the worker to do something.
func (m *member) order(o order) error {
	m.orders++
	line, err := json.Marshal(o)
	if err == nil {
		_, err = m.stdin.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot tell %s what to do: %w", m.name, err)
	}
	return nil
}

// kill ends the worker as a crash would.
func (m *member) kill() error {
	m.killed = true
	return m.process.Kill()
}

// named returns the name of the worker with this label.
func (c *crew) named(label string) string {
	for _, m := range c.members {
		pid := strconv.Itoa(m.process.PID())
		if label == m.label || m.label == "" && strings.HasSuffix(label, ":"+pid) {
			return m.name
		}
	}
	return label
}

// end lets the workers end, and returns when they and the pipe are gone. The error names those that
// did not end as they should.
//
// A worker ends when its stdin is closed. All are told first, and have one deadline together. The
// rest of the events is read, since the goroutine that reads the pipe may stand at a full channel.
func (c *crew) end() error {
	for _, m := range c.members {
		m.stdin.Close()
	}
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	var errs []error
	for _, m := range c.members {
		select {
		case <-m.process.Done():
		case <-deadline.C:
			deadline.Reset(0) // for the next one
			errs = append(errs, fmt.Errorf("%s did not end and was killed", m.name), m.kill())
		}
		if err := m.process.Wait(); err != nil && !m.killed {
			errs = append(errs, fmt.Errorf("%s ended badly: %w", m.name, err))
		}
	}
	c.pipe.Close()
	for range c.events { // nobody wants to know these any more
	}
	return errors.Join(errs...)
}
