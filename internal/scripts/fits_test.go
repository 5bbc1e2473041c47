package scripts

import "testing"

// A reply that a script does not give, or not to these arguments, does not fit. Those that it gives
// are checked in its own table.
func TestFits(t *testing.T) {
	t.Parallel()
	type array = []any
	bulk := func(text string) []byte { return []byte(text) }
	lookTwo := argsOf("sha", []string{"a", "b", "waiting"}, array{"0", "0"})
	wake := argsOf("sha", []string{"inbox"}, array{"wake", "5000"})
	free := argsOf("sha", []string{theLock}, array{"me", 30_000, fenceTTL})
	anyOf := argsOf("sha", []string{"pool", "a", "b"}, array{"me", 30_000, "0", "", "a", "b"})
	unkept := argsOf("sha", []string{theLock, theSignal}, array{"1000"})
	ended := argsOf("sha", []string{theLock, theSignal}, array{"1000", "", "me/kept"})
	probed := argsOf("sha", []string{"k"}, array{"GET", "SET"})
	for _, test := range []struct {
		script Script
		args   array
		wrong  array
	}{
		{Acquire, free, array{
			nil, "OK", int64(0), int64(1), bulk(""), bulk("-1"), bulk("x"), bulk("9223372036854775808"),
			array{},
			array{bulk("you")},
			array{int64(1), int64(1)},
			array{bulk("you"), bulk("1")},
			array{bulk("you"), int64(1), int64(1)},
		}},
		{AcquireAny, anyOf, array{
			nil, bulk("1"), int64(0),
			array{int64(0), bulk("1")},
			array{int64(3), bulk("1")},
			array{int64(1), bulk("x")},
			array{int64(1), int64(1)},
			array{int64(0), bulk("you"), int64(1)},
			array{int64(0), bulk("you"), int64(1), int64(2)},
			array{int64(1), bulk("you"), int64(1), int64(1)},
		}},
		{Extend, free, array{
			nil, int64(0), int64(1), bulk("ours"),
			array{},
			array{bulk("ours")},
			array{bulk("ours"), bulk("")},
			array{bulk("ours"), bulk(""), int64(-2)},
			array{bulk("ours"), bulk("me"), int64(1)},
			array{bulk("ours"), bulk(""), bulk("1")},
			array{bulk("bare"), nil, int64(1)},
			array{bulk("other"), bulk("you"), int64(-2)},
			array{bulk("free"), bulk("you"), int64(-2)},
			array{bulk("free"), bulk(""), int64(1)},
			array{bulk("gone"), bulk(""), int64(1)},
			array{int64(1), bulk(""), int64(1)},
			array{bulk("ours"), bulk(""), int64(1), int64(1)},
		}},
		{Look, lookTwo, array{
			nil, int64(1),
			array{},
			array{int64(1)},
			array{int64(1), int64(1), int64(1)},
			array{int64(1), bulk("1")},
			array{int64(1), bulk("others")},
			array{int64(1), int64(-3)},
			array{int64(1), nil},
		}},
		{Look, wake, array{nil, int64(1), bulk("1"), array{int64(1)}}},
		{LookAny, free, array{nil, int64(1), array{bulk("1")}, array{bulk("foreign")}, array{int64(-3)}}},
		{Owner, free, array{nil, int64(0), bulk("you"), array{bulk("you")}, array{bulk("you"), nil}}},
		{PoolAssign, free, array{nil, int64(1), array{}, array{int64(1)}, array{int64(1), bulk("1")}}},
		{PoolChange, free, array{nil, int64(-1), bulk("1"), array{}}},
		{PoolMembers, free, array{nil, int64(1), array{int64(1)}}},
		{Probe, probed, array{nil, array{}, array{bulk("ok")}, array{bulk("ok"), int64(1)}}},
		{Register, free, array{
			nil, int64(1), bulk("done"),
			array{},
			array{bulk("done")},
			array{bulk("1"), bulk("1")},
			array{int64(1), bulk("1")},
			array{bulk("done"), int64(1)},
			array{bulk("foreign"), nil},
			array{bulk("done"), bulk("1"), bulk("1")},
		}},
		{Release, free, array{nil, int64(-1), int64(1), bulk("1"), "released", bulk(""), array{bulk("released")}}},
		{ReleaseAny, free, array{nil, int64(1), bulk("1"), bulk("handed on"), array{}}},
		{Repair, unkept, array{nil, int64(-1), int64(2), bulk("1"), array{}, array{int64(0)}}},
		{Repair, ended, array{nil, int64(-1), bulk("1"), array{}, array{int64(1)}}},
		{Take, anyOf, array{
			nil, int64(1), bulk("1"), array{int64(0)}, array{int64(4)}, array{bulk("1")}, array{nil},
		}},
		{Reset, free, array{
			nil, int64(0), bulk("free"),
			array{},
			array{bulk("free")},
			array{bulk("reset"), bulk("you")},
			array{int64(1), bulk("you"), int64(1)},
			array{bulk("reset"), bulk("you"), nil},
			array{bulk("reset"), bulk("you"), int64(-2)},
			array{bulk("other"), nil, int64(1)},
			array{bulk("free"), bulk("you"), int64(-2)},
			array{bulk("free"), bulk(""), int64(1)},
			array{bulk("gone"), bulk("you"), int64(1)},
		}},
	} {
		for _, reply := range test.wrong {
			if test.script.Fits(test.args, reply) {
				t.Errorf("%s: %#v fits", test.script.Name, reply)
			}
		}
	}
}
