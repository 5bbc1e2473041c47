package lock_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/once"
	"github.com/holdfast-go/holdfast/pool"
	"github.com/holdfast-go/holdfast/register"
)

// clearly calls f and reports how it went wrong: with an error or a panic that Is ErrInvalid and says what
// is nil, and what to do.
func clearly(t *testing.T, what string, f func() []reflect.Value) {
	t.Helper()
	var err error
	defer func() {
		if r := recover(); r != nil {
			err, _ = r.(error)
			if bare := new(runtime.Error); errors.As(err, bare) || err == nil {
				t.Errorf("%s: panic %v", what, r)
				return
			}
		}
		if !errors.Is(err, lock.ErrInvalid) || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s: %v", what, err)
		}
	}()
	for _, v := range f() {
		switch out := v.Interface().(type) {
		case error:
			err = out
		case *lock.Mutex:
			_, err = out.TryLock(context.Background())
		}
	}
}

// arguments returns usable arguments for a method, but for contexts, which are nil.
func arguments(m reflect.Type) []reflect.Value {
	var in []reflect.Value
	for i := range m.NumIn() {
		switch kind := m.In(i); {
		case m.IsVariadic() && i == m.NumIn()-1:
		case kind == reflect.TypeFor[register.Number]():
			in = append(in, reflect.ValueOf(register.Int(1)))
		case kind == reflect.TypeFor[register.Comparison]():
			in = append(in, reflect.ValueOf(register.Less))
		case kind.Kind() == reflect.String:
			in = append(in, reflect.ValueOf("job"))
		case kind.Kind() == reflect.Int64:
			in = append(in, reflect.ValueOf(int64(1e9)).Convert(kind))
		case kind == reflect.TypeFor[lock.Filter]():
			in = append(in, reflect.ValueOf(lock.Filter{Name: "job"}))
		case kind.Kind() == reflect.Func:
			in = append(in, reflect.MakeFunc(kind, func([]reflect.Value) []reflect.Value { panic("it was run") }))
		default:
			in = append(in, reflect.Zero(kind))
		}
	}
	return in
}

// methods calls the methods of v that have a context, or all, with nil contexts.
func methods(t *testing.T, v any, all bool) {
	t.Helper()
	for i := range reflect.TypeOf(v).NumMethod() {
		method, name := reflect.ValueOf(v).Method(i), reflect.TypeOf(v).Method(i).Name
		in := arguments(method.Type())
		hasContext := method.Type().NumIn() > 0 && method.Type().In(0) == reflect.TypeFor[context.Context]()
		if !hasContext && !all || name == "Closing" { // that one is of the tests
			continue
		}
		clearly(t, reflect.TypeOf(v).String()+"."+name, func() []reflect.Value {
			out := method.Call(in)
			if name == "List" { // it fails when it is looked at
				for _, err := range out[0].Seq2() {
					out[0] = err
				}
			}
			return out
		})
	}
}

// Whatever is nil that must not be: one clear sentence.
func TestNil(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t), nil)
	lease := acquire(t, c.Mutex(redistest.Name(t)))
	defer unlock(t, lease)
	for _, v := range []any{
		c, c.Mutex("job"), lease, pool.New(c, "job", nil), register.New(c, "job"), register.NewGate(c, "job"),
		&once.Cache[string, int]{},
	} {
		methods(t, v, false)
	}
	for _, v := range []any{
		(*lock.Client)(nil), (*lock.Mutex)(nil), (*lock.Lease)(nil), (*pool.Pool)(nil), (*register.Register)(nil),
		(*register.Gate)(nil), (*once.Cache[string, int])(nil),
		&lock.Client{}, &lock.Lease{}, &pool.Pool{}, &register.Register{}, &register.Gate{}, &once.Cache[string, int]{},
	} {
		methods(t, v, true)
	}
	var none context.Context
	for what, f := range map[string]func(){
		"pool.New":     func() { pool.New(nil, "job", nil) },
		"register.New": func() { register.New(nil, "job") },
		"NewGate":      func() { register.NewGate(nil, "job") },
		"LeaseFrom":    func() { lock.LeaseFrom(none) },
	} {
		clearly(t, what, func() []reflect.Value { f(); return nil })
	}
	clearly(t, "an empty Mutex", func() []reflect.Value {
		_, err := new(lock.Mutex).Lock(context.Background())
		return []reflect.Value{reflect.ValueOf(&err).Elem()}
	})
}
