package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A timeline prints what happens: when, who, what.
type timeline struct {
	out    io.Writer
	colour bool
	start  time.Time
}

func newTimeline(out io.Writer) *timeline {
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return &timeline{out: out, colour: isTerminal(out) && !plain, start: time.Now()}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const (
	bold = "1"
	dim  = "2"
	red  = "31"
)

// paint puts a text into a colour, if there are colours.
func (t *timeline) paint(colour, text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// heading begins an act.
func (t *timeline) heading(title string, about ...string) {
	fmt.Fprintf(t.out, "\n%s\n", t.paint(bold, title))
	for _, line := range about {
		fmt.Fprintf(t.out, "%s\n", t.paint(dim, "   "+line))
	}
}

// line tells what somebody did at a time.
func (t *timeline) line(at time.Time, who, format string, args ...any) {
	name := t.paint(colourOf(who), fmt.Sprintf("%-9s", who))
	fmt.Fprintf(t.out, "%8s s  %s %s\n", t.clock(at), name, fmt.Sprintf(format, args...))
}

// more goes on where line ended.
func (t *timeline) more(format string, args ...any) {
	fmt.Fprintf(t.out, "%s%s\n", strings.Repeat(" ", 22), fmt.Sprintf(format, args...))
}

// clock returns a time in seconds since the start.
func (t *timeline) clock(at time.Time) string {
	return fmt.Sprintf("%.3f", max(0, at.Sub(t.start).Seconds()))
}

// colourOf gives everybody a colour.
func colourOf(who string) string {
	var worker int
	if _, err := fmt.Sscanf(who, "worker %d", &worker); err == nil {
		return []string{"36", "33", "35", "32", "34"}[(worker+4)%5]
	}
	if who == "demo" {
		return bold
	}
	return "92"
}

// seconds and milliseconds show how long something took.
func seconds(d time.Duration) string      { return fmt.Sprintf("%.3g s", d.Seconds()) }
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }
