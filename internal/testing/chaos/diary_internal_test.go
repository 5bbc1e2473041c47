package chaos

import (
	"slices"
	"testing"
	"time"
)

// What a process wrote counts until it is gone, also if that was in the middle of a line.
func TestDiary(t *testing.T) {
	t.Parallel()
	r := &run{recorder: recorder{began: time.Now(), h: new(History)}}
	r.cfg.TTL = time.Second
	d := &diary{run: r, client: 8, offset: 1000}
	for _, text := range []string{
		`{"What":"call","At":1001,"Name":"a"}` + "\n" + `{"What":"over","At":1002}` + "\n" + `{"What":"call",`,
		`"At":1003,"Name":"b"}` + "\n" + `{"What":"lease","At":1004,"Fence":7}` + "\n",
		`{"What":"valid","At":1005}` + "\n" + `{"What":"unlock","At":1006}` + "\n",
		`{"What":"unlocked","At":1007,"Good":true}` + "\n",
		`{"What":"call","At":1008,"Name":"b"}` + "\n" + `{"What":"lease","At":1009,"Fence":8}` + "\n",
		`{"What":"valid","At":1010}` + "\n" + `{"What":"val`,
	} {
		if n, err := d.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write: %d, %v", n, err)
		}
	}
	d.close()
	l := Lease{Name: "b", How: "Process", Client: 8, Worker: 8, Longest: time.Second}
	first, second := l, l
	first.Call, first.Return, first.Begin, first.End, first.Fence = 3, 4, 4, 5, 7
	first.Unlock, first.Unlocked, first.Released = 6, 7, true
	second.Call, second.Return, second.Begin, second.End, second.Fence = 8, 9, 9, 10, 8
	if !slices.Equal(r.h.Leases, []Lease{first, second}) {
		t.Errorf("leases %+v", r.h.Leases)
	}
	if want := []Wait{{"a", 8, 1, 2}, {"b", 8, 3, 4}, {"b", 8, 8, 9}}; !slices.Equal(r.h.Waits, want) {
		t.Errorf("waits %+v, want %+v", r.h.Waits, want)
	}
	if len(r.h.Seen) != 0 {
		t.Errorf("seen: %q", r.h.Seen)
	}
}

// The clock that processes share goes on by itself, and as ours does.
func TestOffset(t *testing.T) {
	t.Parallel()
	began := time.Now()
	now := func() time.Duration { return time.Since(began) }
	ahead, ok := offset(now)
	if !ok {
		t.Log("processes share no clock here")
		return
	}
	again, _ := offset(now)
	if d := (again - ahead).Abs(); d > 10*time.Millisecond { // no margin is shorter
		t.Errorf("the clocks went apart by %v", d)
	}
}
