package locktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// importRows is what is tested: a job that must run once at a time. next reads and stores one row,
// and returns false when there was none.
func importRows(ctx context.Context, c *lock.Client, next func(context.Context) bool) error {
	return c.Do(ctx, "import", func(ctx context.Context) error {
		for next(ctx) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	})
}

func TestImportReadsAll(t *testing.T) {
	rows := 3
	err := importRows(t.Context(), locktest.Client(t), func(context.Context) bool {
		rows--
		return rows > 0
	})
	if err != nil || rows != 0 {
		t.Errorf("%d rows are left: %v", rows, err)
	}
}

func TestImportStopsWhenItLosesItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := locktest.Start(t)
		rows := 0
		err := importRows(t.Context(), s.Client(t, nil), func(context.Context) bool {
			rows++
			if rows == 60 {
				s.Steal("import", time.Hour)
			}
			time.Sleep(time.Second) // a row takes a second, of the bubble's time
			return true
		})
		if !errors.Is(err, lock.ErrLost) {
			t.Errorf("the import says %v", err)
		}
		if rows > 60+10 { // told at the next renewal: a third of 30 s
			t.Errorf("it went on for %d rows", rows-60)
		}
	})
}

func TestImportWaitsForTheOtherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := locktest.Start(t)
		giveBack := s.Steal("import", lock.NoExpiry)
		time.AfterFunc(10*time.Minute, giveBack)
		began := time.Now()
		err := importRows(t.Context(), s.Client(t, nil), func(context.Context) bool { return false })
		if err != nil || time.Since(began) != 10*time.Minute {
			t.Errorf("it ran after %v: %v", time.Since(began), err)
		}

		s.Steal("import", lock.NoExpiry)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = importRows(ctx, s.Client(t, nil), func(context.Context) bool {
			t.Error("it ran without the lock")
			return false
		})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lock.ErrHeld) {
			t.Errorf("it gave up with %v", err)
		}
	})
}

func TestImportSurvivesASlowRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := locktest.Start(t)
		rows := 0
		err := importRows(t.Context(), s.Client(t, nil), func(context.Context) bool {
			s.Delay(500 * time.Millisecond)
			rows++
			time.Sleep(time.Minute)
			return rows < 10
		})
		if err != nil || rows != 10 {
			t.Errorf("%d rows: %v", rows, err)
		}
	})
}

func TestNoTwoImportsWhenRedisIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := locktest.Start(t)
		a, b := s.Client(t, nil), s.Client(t, nil)
		var stopped, began time.Time
		go importRows(t.Context(), a, func(ctx context.Context) bool {
			<-ctx.Done()
			stopped = time.Now()
			return true
		})
		synctest.Wait()
		go importRows(t.Context(), b, func(context.Context) bool {
			began = time.Now()
			return false
		})
		time.Sleep(time.Minute)

		s.Down()
		time.Sleep(time.Minute)
		s.Up()
		time.Sleep(time.Minute)
		synctest.Wait()
		if stopped.IsZero() || began.IsZero() || !stopped.Before(began) {
			t.Errorf("one stopped at %v, the next began at %v", stopped, began)
		}
	})
}

// A store that refuses a write with a fencing token smaller than it has seen.
type store struct{ newest int64 }

func (s *store) write(fence int64) error {
	if fence < s.newest {
		return errors.New("a newer holder has written already")
	}
	s.newest = fence
	return nil
}

func TestStoreRefusesAHolderThatWasPaused(t *testing.T) {
	s := locktest.Start(t)
	paused, err := s.Client(t, nil).Mutex("import").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer paused.Unlock(context.Background())
	s.Expire("import") // while it was paused, and it has not been told yet
	next, err := s.Client(t, nil).Mutex("import").TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Unlock(context.Background())

	var rows store
	if err := rows.write(next.Fence()); err != nil {
		t.Errorf("the holder: %v", err)
	}
	if err := rows.write(paused.Fence()); err == nil {
		t.Error("two have written")
	}
}
