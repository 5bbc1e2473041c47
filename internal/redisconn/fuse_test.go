package redisconn

import (
	"testing"
	"time"
)

func TestFuse(t *testing.T) {
	tests := []struct {
		name string
		use  func(f *fuse)
		want time.Duration // when it blows; 0: never
	}{
		{"idle", func(*fuse) {}, 0},
		{"in time", func(f *fuse) { f.arm(in(100 * ms)); time.Sleep(99 * ms); f.disarm() }, 0},
		{"too late", func(f *fuse) { f.arm(in(100 * ms)) }, 100 * ms},
		{"longer after a short one", func(f *fuse) {
			f.arm(in(100 * ms))
			f.disarm()
			f.arm(in(time.Second))
		}, time.Second},
		{"shorter after a long one", func(f *fuse) {
			f.arm(in(time.Second))
			f.disarm()
			f.arm(in(100 * ms))
		}, 100 * ms},
		{"shorter, in time, and a long one", func(f *fuse) {
			f.arm(in(time.Second))
			f.disarm()
			f.arm(in(100 * ms))
			f.disarm()
			f.arm(in(2 * time.Second))
		}, 2 * time.Second},
		{"after a long rest", func(f *fuse) {
			f.arm(in(time.Second))
			f.disarm()
			time.Sleep(time.Hour)
			f.arm(in(100 * ms))
		}, time.Hour + 100*ms},
		{"one exchange after the other", func(f *fuse) {
			for range 1000 {
				f.arm(in(100 * ms))
				time.Sleep(70 * ms)
				f.disarm()
			}
			f.arm(in(100 * ms))
		}, 70*time.Second + 100*ms},
	}
	for _, test := range tests {
		bubbleRun(t, test.name, func(t *testing.T) {
			begin, blew := time.Now(), make(chan time.Duration, 2)
			f := newFuse(func() { blew <- time.Since(begin) })
			test.use(f)
			time.Sleep(2 * time.Hour)
			if blown := f.disarm(); blown != (test.want != 0) || len(blew) > 1 {
				t.Errorf("blown: %v, %d times", blown, len(blew))
			}
			if test.want != 0 {
				if got := <-blew; got != test.want {
					t.Errorf("it blew after %v, want %v", got, test.want)
				}
			}
		})
	}
}
