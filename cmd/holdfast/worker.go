package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/internal/anyredis"
	"github.com/holdfast-go/holdfast/lock"
)

const workerUsage = `usage: holdfast demo-worker -name N -prefix P -ttl D [-label L]

One process of the demo, which starts it. It takes orders on stdin, reports on stdout, and ends
when stdin does. REDIS_URL names the server.
`

// A worker is one process of the demo: a client, and the orders that it carries out in turn. Its
// fields are for the goroutine that works. Hooks are called on others as well.
type worker struct {
	*reporter
	client *lock.Client
	label  string
	pause  time.Duration // between two jobs

	waits bool // the job under way has been reported as waiting: see work
}

func runWorker(ctx context.Context, args []string, stdin io.Reader, stdout, _ io.Writer) error {
	w := &worker{reporter: &reporter{out: stdout}}
	o := lock.Options{Hooks: w.hooks()}
	flags := flag.NewFlagSet("demo-worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&w.worker, "name", "", "")
	flags.StringVar(&o.Prefix, "prefix", "", "")
	flags.StringVar(&o.Label, "label", "", "")
	flags.DurationVar(&o.TTL, "ttl", 0, "")
	if err := flags.Parse(args); err != nil {
		return usageError("demo-worker: " + err.Error())
	}
	url := os.Getenv(anyredis.Variable)
	if url == "" || w.worker == "" {
		return usageError("demo-worker is for the demo to start")
	}
	// A worker whose demo was killed still releases its lock, though nobody reads its report.
	signal.Ignore(syscall.SIGPIPE)

	client, err := lock.Open(url, &o)
	if err != nil {
		return err
	}
	defer client.Close()
	w.client, w.label, w.pause = client, o.Label, o.TTL/30
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	orders := make(chan order)
	// Owned by this process. It ends with stdin, and has the process end then.
	go func() {
		defer cancel()
		read(ctx, stdin, orders)
	}()
	w.tell(event{What: ready})
	for {
		select {
		case o := <-orders:
			w.obey(ctx, o)
		case <-ctx.Done():
			return nil
		}
	}
}

// read hands on orders until stdin or ctx ends.
func read(ctx context.Context, stdin io.Reader, orders chan<- order) {
	for d := json.NewDecoder(stdin); ; {
		var o order
		if d.Decode(&o) != nil {
			return
		}
		select {
		case orders <- o:
		case <-ctx.Done():
			return
		}
	}
}

// obey carries out an order, and reports that it has. What kept it from that is no failure once ctx
// has ended: the demo wants no more then.
func (w *worker) obey(ctx context.Context, o order) {
	do := w.work
	if o.Do == "clear" {
		do = w.clear
	}
	if err := do(ctx, o); err != nil && ctx.Err() == nil {
		w.tell(event{What: failed, Text: err.Error()})
		return
	}
	w.tell(event{What: idle})
}

// work does jobs under a lock, which it takes and releases for each.
func (w *worker) work(ctx context.Context, o order) error {
	m := w.client.MutexWith(o.Lock, &lock.MutexOptions{TTL: o.TTL})
	for _, length := range o.Jobs {
		w.waits = false
		err := m.Do(ctx, func(ctx context.Context) error {
			if err := sleep(ctx, length); err != nil {
				return err
			}
			w.tell(event{What: unlocking, Lock: o.Lock})
			return nil
		})
		if err != nil {
			return err
		}
		if err := sleep(ctx, w.pause); err != nil {
			return err
		}
	}
	return nil
}

// sleep stands for the work. Like any job under a lock it stops when its context ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// clear gives up every lock that an earlier process of this label left.
func (w *worker) clear(ctx context.Context, _ order) error {
	w.tell(event{What: resetting, Label: w.label})
	owners, err := w.client.ResetAll(ctx, lock.Filter{Label: w.label})
	for _, o := range owners {
		w.tell(event{What: reset, Lock: o.Name, Label: o.Label, Since: o.Since, Left: o.TTL})
	}
	return err
}

// hooks report what happens to the worker's locks. Waiting is called on the goroutine that works.
// Others may be called on any, so the reporter has a mutex.
func (w *worker) hooks() lock.Hooks {
	passing := func(err error) { w.tell(event{What: trouble, Text: err.Error()}) }
	return lock.Hooks{
		Waiting: func(e lock.Event) {
			if w.waits {
				return
			}
			w.waits = true // on the goroutine that works
			w.tell(event{
				What: waiting, Lock: e.Name,
				Label: e.Owner.Label, Since: e.Owner.Since, Left: e.Owner.TTL,
			})
		},
		Acquired: func(e lock.Event) {
			w.tell(event{
				What: acquired, Lock: e.Name, Label: e.Owner.Label,
				Fence: e.Fence, Waited: e.Waited, Until: e.Until,
			})
		},
		Renewed: func(e lock.Event) {
			w.tell(event{What: renewed, Lock: e.Name, Until: e.Until})
		},
		Lost: func(e lock.Event) {
			w.tell(event{What: lost, Lock: e.Name, Text: e.Err.Error()})
		},
		RenewalFailed: func(e lock.Event) { passing(e.Err) },
		Reconnecting:  func(e lock.Event) { passing(e.Err) },
		Degraded:      func(e lock.Event) { passing(e.Err) },
	}
}
