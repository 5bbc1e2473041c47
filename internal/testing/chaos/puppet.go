package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/child"
)

// A puppet is a seat for processes, one after the other, which are killed and stopped.
type puppet struct {
	run     *run
	seat    *seat
	random  *rand.Rand
	started int
}

// live runs processes until stop is closed.
func (p *puppet) live(stop <-chan struct{}) {
	for !over(stop) {
		if err := p.one(stop); err != nil {
			p.run.seen("a process: %v", err)
			return
		}
	}
}

// one runs one process until it is killed, or stop is closed and it has given up what it holds.
func (p *puppet) one(stop <-chan struct{}) error {
	p.started++
	label := fmt.Sprintf("chaos-process-%d-%d", p.seat.index, p.started)
	defer p.gone(label)
	text, err := json.Marshal(orders{
		URL: p.seat.url, Label: label, Names: p.run.names, TTL: p.run.cfg.TTL, Seed: p.random.Uint64(),
	})
	if err != nil {
		return err
	}
	diary := &diary{run: p.run, client: p.seat.index, offset: p.run.offset}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ProcessVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = diary, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	proc, err := child.Start(cmd)
	if err != nil {
		return err
	}
	killed, err := p.torture(proc, stop)
	stdin.Close() // which ends it, if it lives
	if wait(proc.Done(), patience+5*operationLimit) && err == nil {
		err = errors.New("it does not end")
	}
	_ = proc.Kill()
	diary.close()
	if err == nil && !killed {
		err = proc.Wait()
	}
	return err
}

// torture stops the process now and then, and may kill it, until stop is closed or it has ended by itself.
func (p *puppet) torture(proc *child.Process, stop <-chan struct{}) (killed bool, err error) {
	ttl := p.run.cfg.TTL
	for wait(stop, ttl/2+upTo(p.random, 4*ttl)) {
		if over(proc.Done()) {
			return false, errors.New("it ended by itself")
		}
		if chance(p.random, 40) {
			return true, strike(proc.PID(), "KILL")
		}
		f := Fault{Kind: "process stopped", Client: p.seat.index, From: p.run.now()}
		if err := strike(proc.PID(), "STOP"); err != nil {
			return false, err
		}
		wait(stop, ttl/4+upTo(p.random, 2*ttl))
		if err := strike(proc.PID(), "CONT"); err != nil {
			return false, err
		}
		f.To = p.run.now()
		p.run.fault(f)
	}
	return false, nil
}

// gone looks whether a process that has ended leaves a lock held for longer than its TTL, counted from the
// end of the longest fault that can have kept a request back on its way.
func (p *puppet) gone(label string) {
	late := 17*p.run.cfg.TTL + slack
	for _, name := range p.run.names {
		held := func() bool { return strings.HasPrefix(p.run.holder(name), label+"/") }
		if !p.run.until(late, func() bool { return !held() }) {
			p.run.seen("%s is held by a process that is gone", name)
		}
	}
}

// offset returns by how much the clock that processes share is ahead of the run's, as exactly as it can be
// had. Without such a clock there are no processes.
func offset(now func() time.Duration) (ahead time.Duration, ok bool) {
	best := time.Hour
	for range 100 {
		before := now()
		common, shared := monotonic()
		if took := now() - before; took < best {
			best, ahead, ok = took, common-before-took/2, shared
		}
	}
	return ahead, ok
}
