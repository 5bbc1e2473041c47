package lock_test

import (
	"reflect"
	"testing"

	"github.com/holdfast-go/holdfast/lock"
)

// only returns hooks of which one field is set, by number, and calls a function.
func only(field int, call func()) lock.Hooks {
	var hooks lock.Hooks
	v := reflect.ValueOf(&hooks).Elem().Field(field)
	v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value {
		call()
		return nil
	}))
	return hooks
}

// A field of Hooks that JoinHooks forgets, or mixes up with another, is noticed here.
func TestJoinHooksKnowsEveryField(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[lock.Hooks]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		order := ""
		joined := reflect.ValueOf(lock.JoinHooks(
			only(i, func() { order += "a" }),
			lock.Hooks{},
			only(i, func() { order += "b" }),
			only((i+1)%fields.NumField(), func() { order += "x" }),
			only(i, func() { order += "c" }),
		))
		hook := joined.Field(i)
		if hook.IsNil() {
			t.Errorf("JoinHooks forgets %s", name)
			continue
		}
		hook.Call([]reflect.Value{reflect.Zero(hook.Type().In(0))})
		if order != "abc" {
			t.Errorf("%s: called %q, want abc", name, order)
		}
		for j := range fields.NumField() {
			set := j == i || j == (i+1)%fields.NumField()
			if joined.Field(j).IsNil() == set {
				t.Errorf("%s was set, and %s is set: %v", name, fields.Field(j).Name, !set)
			}
		}
	}
}

func TestJoinHooksOfNone(t *testing.T) {
	t.Parallel()
	for _, hooks := range [][]lock.Hooks{nil, {{}}, {{}, {}}} {
		if joined := lock.JoinHooks(hooks...); !reflect.ValueOf(joined).IsZero() {
			t.Errorf("%d empty ones joined: %+v", len(hooks), joined)
		}
	}
}

func TestJoinHooksHandsTheInfoOn(t *testing.T) {
	t.Parallel()
	var got []string
	add := func(i lock.LeakedInfo) { got = append(got, i.Name) }
	hooks := []lock.Hooks{{Leaked: add}, {Leaked: add}}
	joined := lock.JoinHooks(hooks...)
	hooks[0].Leaked = nil // it is what was given that counts
	joined.Leaked(lock.LeakedInfo{Name: "job"})
	if len(got) != 2 || got[0] != "job" || got[1] != "job" {
		t.Errorf("told %q", got)
	}
}
