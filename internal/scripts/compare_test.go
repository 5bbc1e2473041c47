package scripts

import "testing"

// TestAcquireComparesAndSets goes through what may be there, what must be, and who chose the id "me".
func TestAcquireComparesAndSets(t *testing.T) {
	t.Parallel()
	const last = "1700000000000001" // the fencing token that is stored
	type outcome int
	const (
		taken  outcome = iota // with a new token
		again                 // found, with the token that is stored
		held                  // refused: something else is there
		nobody                // refused: nothing is there
	)
	chosen := func(fresh, chosen outcome) [2]outcome { return [2]outcome{fresh, chosen} }
	both := func(o outcome) [2]outcome { return [2]outcome{o, o} }
	nothing := "nothing"

	var tests []test
	for _, row := range []struct {
		there              string
		free, itself, from [2]outcome // what must be there: nothing, "me", "old"
	}{
		{nothing, both(taken), both(nobody), both(nobody)},
		{"me", chosen(again, held), both(taken), chosen(again, held)},
		{"old", both(held), both(held), both(taken)},
		{"you", both(held), both(held), both(held)},
		{"", both(held), both(held), both(held)},
	} {
		for must, outcomes := range map[string][2]outcome{"": row.free, "me": row.itself, "old": row.from} {
			for i, by := range []string{"", "chosen"} {
				test := test{
					name:  row.there + " is there, " + must + " must be, " + by,
					given: []command{{"SET", theFence, last}},
					keys:  []string{theLock, theFence},
					args:  []any{"me", 30_000, fenceTTL, by, must},
				}
				if row.there != nothing {
					test.given = append(test.given, command{"SET", theLock, row.there, "PX", 10_000})
				}
				stored := text(last, forever)
				switch outcomes[i] {
				case taken:
					test.want, test.after = clock{}, lock("me", ms(30_000))
					stored = text(clock{}, ms(fenceTTL))
				case again:
					test.want, test.after = last, lock("me", ms(30_000))
				case held:
					test.want, test.after = []any{row.there, ms(10_000)}, lock(row.there, ms(10_000))
				case nobody:
					test.want, test.after = []any{}, state{}
				}
				test.after = test.after.and(theFence, stored)
				tests = append(tests, test)
			}
		}
	}
	onBoth(t, Acquire, tests)
}
