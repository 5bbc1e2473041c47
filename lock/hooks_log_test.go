package lock_test

import (
	"bytes"
	"context"
	"errors"
	"log"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// untimed returns a logger without the records' own times.
func untimed(to *bytes.Buffer, from slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{
		Level: from,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func TestLogHooks(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := lock.LogHooks(untimed(&out, slog.LevelDebug))
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	sad := errors.New("no route")
	me := lock.Owner{Label: "me"}
	owner := lock.Owner{
		Name: "job", ID: "db3:41/random", Label: "db3:41", Host: "db3", PID: 41, Since: at,
		TTL: 5 * time.Second,
	}
	for _, c := range []struct {
		tell func()
		want string
	}{
		{
			func() { h.Acquired(lock.Event{Name: "job", Owner: me, Fence: 7, Waited: time.Second, Until: at}) },
			`level=INFO msg="lock acquired" lock=job label=me waited=1s fence=7 until=2025-03-01T12:00:00.000Z`,
		},
		{
			func() { h.Acquired(lock.Event{Name: "job", Owner: me}) },
			`level=INFO msg="lock acquired" lock=job label=me waited=0s`,
		},
		{
			func() { h.Waiting(lock.Event{Name: "job", Owner: owner, Waited: time.Second}) },
			`level=INFO msg="waiting for lock" lock=job waited=1s owner=db3:41 host=db3 pid=41 ttl=5s` +
				` since=2025-03-01T12:00:00.000Z`,
		},
		{
			func() { h.Waiting(lock.Event{Name: "job", Owner: lock.Owner{TTL: lock.NoExpiry}, Waited: time.Second}) },
			`level=INFO msg="waiting for lock" lock=job waited=1s`,
		},
		{
			func() { h.Renewed(lock.Event{Name: "job", Until: at}) },
			`level=DEBUG msg="lock renewed" lock=job until=2025-03-01T12:00:00.000Z`,
		},
		{
			func() { h.RenewalFailed(lock.Event{Name: "job", Err: sad, Until: at}) },
			`level=WARN msg="lock renewal failed" lock=job error="no route" until=2025-03-01T12:00:00.000Z`,
		},
		{
			func() { h.Lost(lock.Event{Name: "job", Err: sad}) },
			`level=ERROR msg="lock lost" lock=job error="no route"`,
		},
		{
			func() { h.Released(lock.Event{Name: "job"}) },
			`level=INFO msg="lock released" lock=job`,
		},
		{
			func() { h.Released(lock.Event{Name: "job", Err: sad}) },
			`level=WARN msg="lock release failed" lock=job error="no route"`,
		},
		{
			func() { h.Released(lock.Event{Name: "job", Err: lock.ErrNotHeld}) },
			`level=INFO msg="lock was not held any more" lock=job error="lock: not held"`,
		},
		{
			func() { h.Retrying(lock.Event{Name: "job", Err: sad, Waited: time.Second, Times: 7}) },
			`level=WARN msg="lock retried" lock=job error="no route" for=1s times=7`,
		},
		{
			func() { h.Reconnecting(lock.Event{Err: sad, Times: 9}) },
			`level=WARN msg="lock connection broken" error="no route" times=9`,
		},
		{
			func() { h.Degraded(lock.Event{Err: sad}) },
			`level=WARN msg="lock waiting degraded" error="no route"`,
		},
		{func() { h.Leaked(lock.Event{Name: "job"}) }, `level=ERROR msg="lock leaked" lock=job`},
		{
			func() { h.Warning(lock.Event{Name: "job", Err: errors.New("look here")}) },
			`level=WARN msg="lock warning" detail="look here" lock=job`,
		},
		{
			func() { h.Warning(lock.Event{Err: errors.New("look")}) },
			`level=WARN msg="lock warning" detail=look`,
		},
	} {
		out.Reset()
		c.tell()
		if got := strings.TrimSuffix(out.String(), "\n"); got != c.want {
			t.Errorf("logged\n%s\nwant\n%s", got, c.want)
		}
	}
}

// A recorder is a handler that keeps what it gets.
type recorder struct{ records []slog.Record }

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *recorder) WithGroup(string) slog.Handler            { return r }

func (r *recorder) Handle(_ context.Context, record slog.Record) error {
	r.records = append(r.records, record)
	return nil
}

// A field of Hooks that LogHooks forgets is noticed here, and so is a field of an event that the hook
// sets and that does not show.
func TestLogHooksKnowsEveryField(t *testing.T) {
	t.Parallel()
	var r recorder
	hooks := reflect.ValueOf(lock.LogHooks(slog.New(&r)))
	key := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	messages, sets := make(map[string]string), fieldsOf(t)
	for i := range hooks.NumField() {
		name, hook := hooks.Type().Field(i).Name, hooks.Field(i).Interface().(func(lock.Event))
		if hook == nil {
			t.Errorf("LogHooks forgets %s", name)
			continue
		}
		o := lock.Owner{ID: "Owner.ID", Label: "Owner.Label", Host: "Owner.Host", PID: 99}
		o.TTL, o.Since, o.Kept = 98*time.Second, time.Unix(97, 0), true
		shown := []any{o.Label, o.Host, int64(o.PID), o.TTL, o.Since, o.Kept}
		if name == "Acquired" {
			o, shown = lock.Owner{Label: o.Label}, shown[:1]
		}
		e, want := fullEvent(sets[name], o, shown)
		r.records = nil
		hook(e)
		if len(r.records) != 1 {
			t.Errorf("%s: %d records", name, len(r.records))
			continue
		}
		message := r.records[0].Message
		if other := messages[message]; other != "" || message == "" {
			t.Errorf("%s: the message %q is that of %q", name, message, other)
		}
		messages[message] = name
		got := make(map[any]bool)
		r.records[0].Attrs(func(a slog.Attr) bool {
			got[a.Value.Any()] = true
			if !key.MatchString(a.Key) {
				t.Errorf("%s: key %q", name, a.Key)
			}
			return true
		})
		for _, v := range want {
			if !got[v] {
				t.Errorf("%s: %v does not show in %v", name, v, got)
			}
		}
		if got["Owner.ID"] {
			t.Errorf("%s: the owner's id shows: %v", name, got)
		}
	}
}

// fullEvent returns an event of which some fields are set, and what must show of it in a log. The
// owner that it tells of is given with what must show of that one.
func fullEvent(fields []string, o lock.Owner, shown []any) (e lock.Event, want []any) {
	for i, name := range fields {
		f := reflect.ValueOf(&e).Elem().FieldByName(name)
		switch f.Interface().(type) {
		case lock.Owner:
			f.Set(reflect.ValueOf(o))
			want = append(want, shown...)
			continue
		case nil: // an error
			f.Set(reflect.ValueOf(errors.New("sad")))
		case time.Time:
			f.Set(reflect.ValueOf(time.Unix(int64(i+1), 0)))
		case time.Duration:
			f.Set(reflect.ValueOf(time.Duration(i + 1)))
		case int:
			f.Set(reflect.ValueOf(i + 1))
			want = append(want, int64(i+1))
			continue
		case int64:
			f.Set(reflect.ValueOf(int64(i + 1)))
		case string:
			f.Set(reflect.ValueOf(name))
		default:
			panic("a type that this test does not know: " + f.Type().String())
		}
		want = append(want, f.Interface())
	}
	return e, want
}

// A nil logger is whatever is the default when something happens. Not parallel: it is the program's.
func TestLogHooksOfTheDefault(t *testing.T) {
	old, w, flags := slog.Default(), log.Writer(), log.Flags()
	defer func() {
		slog.SetDefault(old)
		log.SetOutput(w) // SetDefault sent it to the logger
		log.SetFlags(flags)
	}()
	h := lock.LogHooks(nil)
	for range 2 {
		var r recorder
		slog.SetDefault(slog.New(&r))
		h.Leaked(lock.Event{Name: "job"})
		if len(r.records) != 1 || r.records[0].Message != "lock leaked" {
			t.Errorf("the default logger got %+v", r.records)
		}
	}
}

// A level that is not enabled costs nothing. Not parallel: the runtime counts for the whole program.
func TestLogHooksMakeNothingForNobody(t *testing.T) {
	h := lock.LogHooks(slog.New(slog.DiscardHandler))
	renewed := lock.Event{Name: "job", Until: time.Now()}
	waiting := lock.Event{Name: "job", Owner: lock.Owner{Label: "a", Since: time.Now()}}
	if n := testing.AllocsPerRun(100, func() {
		h.Renewed(renewed)
		h.Waiting(waiting)
		h.Released(lock.Event{Name: "job"})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
