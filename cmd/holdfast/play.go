package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/internal/anyredis"
	"github.com/holdfast-go/holdfast/lock"
)

func runDemo(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parseDemo(args)
	if err != nil {
		return err
	}
	d := &demo{
		narrator: narrator{demoOptions: o, timeline: newTimeline(stdout), book: newLedger()},
		count:    map[sighting]int{},
	}
	err = d.play(ctx, stderr)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; everything that the demo started has ended", context.Cause(ctx))
	}
	if left := d.end(); left != nil {
		return errors.Join(err, fmt.Errorf("what the demo started did not end well: %w", left))
	}
	if err != nil {
		return err
	}
	d.summary()
	if broken := d.book.broken; len(broken) > 0 {
		return fmt.Errorf("the demo has shown what must not happen: %s", strings.Join(broken, "; "))
	}
	return nil
}

// play shows everything.
func (d *demo) play(ctx context.Context, stderr io.Writer) (err error) {
	if d.redis, err = anyredis.Find(ctx); err != nil {
		return err
	}
	d.introduce(d.redis.About)
	d.client, err = lock.Open(d.redis.URL, &lock.Options{Prefix: d.redis.Prefix})
	if err != nil {
		return err
	}
	if d.crew, err = newCrew(d.redis, d.ttl, stderr); err != nil {
		return err
	}
	for _, act := range []func(context.Context) error{
		d.gather, d.longJob, d.shortJobs, d.crash, d.restart,
	} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end ends everything that was started, whatever came before.
func (d *demo) end() error {
	var errs []error
	if d.crew != nil {
		errs = append(errs, d.crew.end())
	}
	if d.client != nil {
		errs = append(errs, d.client.Close())
	}
	if d.redis != nil {
		errs = append(errs, d.redis.Close())
	}
	return errors.Join(errs...)
}
