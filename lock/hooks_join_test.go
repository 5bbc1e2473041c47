package lock_test

import (
	"reflect"
	"testing"

	"github.com/holdfast-go/holdfast/lock"
)

// only returns hooks of which one field is set, by number, and calls a function.
func only(field int, call func(lock.Event)) lock.Hooks {
	var hooks lock.Hooks
	reflect.ValueOf(&hooks).Elem().Field(field).Set(reflect.ValueOf(call))
	return hooks
}

// A field of Hooks that JoinHooks forgets, or mixes up with another, is noticed here.
func TestJoinHooksKnowsEveryField(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[lock.Hooks]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		order := ""
		add := func(letter string) func(lock.Event) {
			return func(e lock.Event) { order += letter + e.Name }
		}
		joined := reflect.ValueOf(lock.JoinHooks(
			only(i, add("a")),
			lock.Hooks{},
			only(i, add("b")),
			only((i+1)%fields.NumField(), add("x")),
			only(i, add("c")),
		))
		hook := joined.Field(i).Interface().(func(lock.Event))
		if hook == nil {
			t.Errorf("JoinHooks forgets %s", name)
			continue
		}
		hook(lock.Event{Name: "1"})
		if order != "a1b1c1" {
			t.Errorf("%s: called %q, want a1b1c1", name, order)
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

func TestJoinHooksHandsTheEventOn(t *testing.T) {
	t.Parallel()
	var got []string
	add := func(e lock.Event) { got = append(got, e.Name) }
	hooks := []lock.Hooks{{Leaked: add}, {Leaked: add}}
	joined := lock.JoinHooks(hooks...)
	hooks[0].Leaked = nil // it is what was given that counts
	joined.Leaked(lock.Event{Name: "job"})
	if len(got) != 2 || got[0] != "job" || got[1] != "job" {
		t.Errorf("told %q", got)
	}
}
